const input = 'openapi.yaml'

export default {
  client: { input, output: { target: 'client/orval/client.ts', client: 'fetch', baseUrl: process.env.BASE_URL } },
  zod: { input, output: { target: 'client/orval/zod.ts', client: 'zod' } },
}
