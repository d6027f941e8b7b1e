import * as sdk from '@referral/sdk'
import * as msw from '@referral/sdk/msw'
import { smokeNode } from './smoke-node.mjs'

await smokeNode(sdk, msw)
console.log('ok')
