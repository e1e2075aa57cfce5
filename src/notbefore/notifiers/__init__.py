"""Ways to receivers outside: webhooks for programs, apprise for people. Each implements `ports.Notifier`."""
