"""Reading of users' files, and public data sets with their licences."""
