import { type Define, group } from '../check.ts'
import { operations } from '../generated/contract.ts'

const define = (prefix: RegExp) => (rule: Define) => {
  for (const [id, { method, path, files }] of Object.entries(operations)) {
    if (!prefix.test(path)) continue
    const what = files ? `is ${files.join(' or ')}` : 'has every field of the document, with its type'
    rule(id, `Each successful response of ${method} ${path} ${what}`, async (t) => {
      if (!t.seen.operations.has(id)) t.skip('no response of this operation was received')
      const found = t.seen.operations.get(id)
      t.ok(found === undefined, String(found))
    })
  }
}

const page = 'reference/index.md'

/** Each response has the documented fields. They run last. */
export const schemas = group('schema', { title: 'Fields of responses', page, isExclusive: true }, define(/^\/api\//))
export const ownerSchemas = group(
  'owner-schema',
  { title: 'Fields of responses to owners', page, suite: 'owner', needs: ['owner'], isExclusive: true },
  define(/^\/admin\//),
)
export const siteSchemas = group(
  'site-schema',
  {
    title: 'Fields of responses to pages and stores',
    page,
    suite: 'owner',
    needs: ['owner', 'settings'],
    isExclusive: true,
  },
  define(/^\/(t|r|integrations)\//),
)
