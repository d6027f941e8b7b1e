import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { document } from '../support/document.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents are walked as plain JSON
type Json = any

const RELEASED = new URL('released/openapi-0.1.0.yaml', import.meta.url)

/** What a contract says, whichever parts of it are components: each error response with its headers, schema and codes. */
function said(contract: Json): Json {
  const follow = (node: Json, seen: string[] = []): Json => {
    if (Array.isArray(node)) return node.map((one) => follow(one, seen))
    if (node === null || typeof node !== 'object') return node
    if (typeof node.$ref !== 'string')
      return Object.fromEntries(Object.entries(node).map(([key, one]) => [key, follow(one, seen)]))
    if (seen.includes(node.$ref)) return node.$ref
    const steps: string[] = node.$ref.slice('#/'.length).split('/')
    const target = steps.reduce((at, step) => at[step], contract)
    return follow(target, [...seen, node.$ref])
  }
  const operation = ({ responses, 'x-error-codes': own = {}, ...rest }: Json) => ({
    ...follow(rest),
    responses: Object.entries<Json>(responses).map(([status, response]) => {
      const { headers, content, 'x-error-codes': shared = [], ...others } = follow(response)
      if (status.startsWith('2')) return [status, { headers, content, ...others }]
      const { schema, examples = {} } = content['application/json']
      const codes = [...Object.keys(examples), ...shared, ...(own[status] ?? [])]
      return [status, { headers, types: Object.keys(content), schema, codes: codes.sort() }]
    }),
  })
  const { ErrorCode, ...schemas } = contract.components.schemas
  const { 'x-example-messages': _messages, ...errorCode } = ErrorCode
  contract.components.schemas.ErrorCode = errorCode
  return {
    ...contract,
    components: { securitySchemes: contract.components.securitySchemes, schemas: follow(schemas), errorCode },
    paths: Object.entries<Json>(contract.paths).map(([path, item]) => [
      path,
      Object.entries<Json>(item).map(([method, op]) => [method, operation(op)]),
    ]),
    webhooks: follow(contract.webhooks),
  }
}

test('the document with shared error responses says what the one with repeated responses said', () => {
  const before = said(parse(readFileSync(RELEASED, 'utf8')))
  const after = said(structuredClone(document))
  expect(before.paths.length).toBeGreaterThan(80)
  expect(after).toEqual(before)
})
