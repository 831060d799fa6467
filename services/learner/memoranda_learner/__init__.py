"""The learner service: chunks become claims with evidence."""
