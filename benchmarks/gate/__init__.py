"""The gate that sends questions to experts: made by ``train``, measured by the package itself."""
