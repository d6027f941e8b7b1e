import * as z from 'zod'
import { composed, document, type Schema } from './document.ts'

/**
 * Rewrites component references, so that one piece of the document stands alone as JSON Schema. Of an object with
 * choices only the object stays: zod would make an intersection, which tolerates unknown properties. choices.ts sees to
 * the rest.
 */
function standAlone(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(standAlone)
  if (node === null || typeof node !== 'object') return node
  const { whole, choices } = 'allOf' in node ? composed(node as Schema) : { whole: node, choices: [] }
  return Object.fromEntries(
    Object.entries(choices.length > 0 ? whole : node).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/components/schemas/', '#/$defs/')
        : standAlone(value),
    ]),
  )
}

const $defs = standAlone(document.components.schemas)

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

/** A schema of the document as zod reads it. */
export function compile(schema: Schema): z.ZodType {
  const alone = standAlone(schema) as Record<string, unknown>
  return z.fromJSONSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', $defs, ...alone } as JsonSchema)
}
