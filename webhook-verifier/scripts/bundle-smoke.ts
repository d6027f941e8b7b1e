// Prints the self-check as one script for runtimes that have Web APIs and nothing else.
import { bundle } from './bundle.ts'

process.stdout.write(
  await bundle(`import { outcome } from './smoke/smoke-browser.mjs'; globalThis.outcome = outcome`, 'iife'),
)
