"""Scripts that run in a process of their own, because what they call may hang or crash. They import nothing of ours."""
