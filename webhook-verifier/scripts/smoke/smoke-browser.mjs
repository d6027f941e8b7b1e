// Bundled for runtimes with Web APIs only.
import * as hono from '../../src/hono.ts'
import * as core from '../../src/index.ts'
import * as next from '../../src/next.ts'
import * as testing from '../../src/testing.ts'
import vectors from '../../vectors.json'
import { smoke } from './smoke.mjs'

export const outcome = smoke({ core, hono, next, testing }, vectors).then(() => 'ok', String)
