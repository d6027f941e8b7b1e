import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const entry = `${import.meta.dirname}/entry.ts`

/** Bundles source code for a browser, minified. Its imports are resolved from this folder. */
export const bundle = async (source: string, format: 'esm' | 'iife' = 'esm'): Promise<string> => {
  const bundler = await rolldown({
    input: entry,
    platform: 'browser',
    treeshake: { moduleSideEffects: false },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? source : undefined),
      },
    ],
  })
  const { output } = await bundler.generate({ format, name: 'sdk', minify: true, comments: false })
  await bundler.close()
  return output[0].code
}

export const gzipped = (text: string) => gzipSync(text, { level: 9 }).length
