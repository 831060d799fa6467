"""All the SQL there is, one module for each thing stored."""
