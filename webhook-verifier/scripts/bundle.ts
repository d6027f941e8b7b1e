import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

/** A file that exists in memory only. Its imports are resolved from this folder. */
const entry = `${import.meta.dirname}/entry.js`

/** Bundles source code for a browser, minified. */
export const bundle = async (source: string, format: 'esm' | 'iife' = 'esm'): Promise<string> => {
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    transform: { target: 'es2022' },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? source : null),
      },
    ],
  })
  const { output } = await build.generate({ format, minify: true })
  return output[0].code
}

export const gzipped = (text: string) => gzipSync(text, { level: 9 }).length
