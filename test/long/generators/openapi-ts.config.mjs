export default {
  input: 'openapi.yaml',
  output: 'client/hey-api',
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', 'zod', { name: '@hey-api/sdk', validator: true }],
}
