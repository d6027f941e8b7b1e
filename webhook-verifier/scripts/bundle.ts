import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

/** A file that is only in memory, beside this one, so that its imports resolve from here. */
const entry = `${import.meta.dirname}/entry.js`

/** One script for a browser out of a line of source, minified. */
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
