// Bundled for runtimes that have Web APIs only.
import * as sdk from '../../src/index.ts'
import { smoke } from './smoke.mjs'

export const outcome = smoke(sdk).then(() => 'ok', String)
