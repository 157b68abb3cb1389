"""THE TABLE: every command the product knows. Importing the module fills command.command's rows.

Everything that says something about commands comes out of it: lookup and gates, COMMAND, ACL categories, the documentation.
"""
