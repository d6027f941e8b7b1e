const sdk = require('@referral/sdk')
const msw = require('@referral/sdk/msw')
const { createAdminClient } = require('@referral/sdk/admin')
const { withOpenTelemetry } = require('@referral/sdk/otel')

if (!createAdminClient(withOpenTelemetry({ apiKey: 'ro', baseUrl: 'https://api.example' })).keys)
  throw new Error('failed: admin')
import('./smoke-node.mjs').then(({ smokeNode }) => smokeNode(sdk, msw)).then(() => console.log('ok'))
