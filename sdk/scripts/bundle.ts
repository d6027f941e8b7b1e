import { gzipSync } from 'node:zlib'
import { build } from 'esbuild-wasm'

/** One file for a browser out of a line of source, minified; every package is resolved from here. */
export const bundle = async (source: string, format: 'esm' | 'iife' = 'esm'): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format,
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    write: false,
    logLevel: 'error',
  })
  return outputFiles[0]!.text
}

export const gzipped = (text: string) => gzipSync(text, { level: 9 }).length
