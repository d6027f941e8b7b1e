import { allOperations, type DocumentedOperation, deref, document, pointerTo, problems, statusOf } from './document.ts'

const everything = allOperations

type Fetch = (request: Request) => Response | Promise<Response>

/** Wraps a server's fetch: a response that the document does not describe fails the test that caused it. */
export function checkedFetch(serve: Fetch): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = new Request(input, init)
    const method = request.method
    const path = new URL(request.url).pathname
    const response = await serve(request)
    // There is no body to check.
    if (method === 'HEAD') return response
    const op = everything.find((one) => one.method === method && matches(one.path, path))
    const known = everything.some((one) => matches(one.path, path))
    const wrong = await findProblems(response.clone(), path, known ? op : undefined)
    if (wrong.length)
      throw new Error(`${method} ${path} answered ${response.status} against the document:\n${wrong.join('\n')}`)
    return response
  }
}

async function findProblems(response: Response, path: string, op: DocumentedOperation | undefined): Promise<string[]> {
  if (!/^\/(api\/v1|admin\/v1|operator\/v1|integrations|t|r)\//.test(path)) return []
  const wrong = headersOf(path)
    .filter((name) => !response.headers.get(name))
    .map((name) => `no ${name}`)
  if (!/^\/(integrations|t|r)\//.test(path)) {
    if (path !== '/api/v1/docs' && !isStoredNowhere(response)) wrong.push('no Cache-Control: no-store')
    if (response.status === 401 && response.headers.get('WWW-Authenticate') !== 'Bearer')
      wrong.push('no WWW-Authenticate')
  }
  if (response.status >= 400) wrong.push(...(await errorProblems(response.clone(), op)))
  if (!op) return wrong
  const { responses } = document.paths[op.path][op.method.toLowerCase()]
  const status = Object.keys(responses).find((one) => statusOf(one) === response.status)
  if (status === undefined) return [...wrong, `status ${response.status} is not documented`]
  if (!response.headers.get('Content-Type')?.startsWith('application/json')) return wrong
  const documented = responses[status]
  const home = documented.$ref
    ? documented.$ref.slice(1)
    : pointerTo('paths', op.path, op.method.toLowerCase(), 'responses', status)
  return [...wrong, ...problems(`${home}/content/application~1json/schema`, await response.json())]
}

const headersOf = (path: string) =>
  path.startsWith('/api/v1/')
    ? ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    : ['X-Request-Id']

const isStoredNowhere = ({ headers }: Response) => headers.get('Cache-Control')?.includes('no-store') ?? false

/** Whether it is the page that a browser gets for a link that does not work. */
const isPage = ({ headers }: Response, op: DocumentedOperation | undefined) =>
  op?.id === 'followAffiliateLink' && headers.get('Content-Type')?.startsWith('text/html')

async function errorProblems(response: Response, op: DocumentedOperation | undefined): Promise<string[]> {
  const wrong: string[] = []
  const code = response.headers.get('X-Error-Code') ?? ''
  const codes: string[] = op
    ? (op.responses[response.status] ?? [])
    : deref({ $ref: '#/components/schemas/ErrorCode' }).enum
  if (!codes.includes(code))
    wrong.push(`X-Error-Code ${code} is not documented for ${op?.id ?? 'this path'} ${response.status}`)
  if (!isPage(response, op)) {
    const body = (await response.json()) as Record<string, unknown>
    if (Object.keys(body).join() !== 'error' || typeof body.error !== 'string')
      wrong.push('the body is not exactly { error }')
  }
  if ([429, 503].includes(response.status) && !response.headers.get('Retry-After')) wrong.push('no Retry-After')
  return wrong
}

const matches = (template: string, path: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
