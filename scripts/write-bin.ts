import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes `bin.cjs` and `start.cjs` of a published package. The first is ES5 without `import()`, so that every release of
 * Node.js can run it and reject an old one in one sentence, instead of failing in a dependency.
 *
 * @param root the folder of the package, whose `engines` name the oldest supported release first, such as `^22.19.0`
 * @param out the folder of the built files, with `main.js`
 */
export const writeBin = (root: string, out: string): void => {
  const { name, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [, major, minor] = /^\^(\d+)\.(\d+)\.0 /.exec(engines.node) ?? []
  if (!major) throw new Error(`engines.node of ${name} must start with ^major.minor.0`)
  writeFileSync(
    join(out, 'bin.cjs'),
    `#!/usr/bin/env node
'use strict'
// ES5, so that every release of Node.js can run this check.
var version = process.versions.node.split('.')
if (version[0] < ${major} || (version[0] == ${major} && version[1] < ${minor})) {
  console.error('${name} requires Node.js ${major}.${minor} or later; this is Node.js ' + process.versions.node + '.')
  process.exitCode = 1
} else {
  require('./start.cjs')
}
`,
    { mode: 0o755 },
  )
  writeFileSync(join(out, 'start.cjs'), "import('./main.js')\n")
}
