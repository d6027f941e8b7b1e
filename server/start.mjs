// JavaScript, so that Node.js loads its TypeScript compiler only for files that changed since the last start.
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

// The cache is in the user's home, where nobody else can write. NODE_COMPILE_CACHE replaces the folder.
enableCompileCache(join(homedir(), '.cache', 'referral-server'))
await import('./src/main.ts')
