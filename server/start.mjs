// JavaScript, so that Node.js loads its TypeScript compiler only for files that changed since the last start.
import { enableCompileCache } from 'node:module'

enableCompileCache()
await import('./src/main.ts')
