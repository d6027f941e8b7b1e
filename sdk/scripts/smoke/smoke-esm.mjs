import * as sdk from '@referral/sdk'
import { createAdminClient } from '@referral/sdk/admin'
import * as msw from '@referral/sdk/msw'
import { withOpenTelemetry } from '@referral/sdk/otel'
import { smokeNode } from './smoke-node.mjs'

await smokeNode(sdk, msw)
if (!createAdminClient(withOpenTelemetry({ apiKey: 'ro', baseUrl: 'https://api.example' })).keys)
  throw new Error('failed: admin')
console.log('ok')
