"""Devices that compute at the same time: what pmap runs on."""
