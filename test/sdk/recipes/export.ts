import { writeFile } from 'node:fs/promises'
import { createAdminClient } from '@referral/sdk/admin'

const admin = createAdminClient({
  apiKey: process.env.REFERRAL_OWNER_TOKEN,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

const { body, headers } = await admin.audit.export().asResponse()
await writeFile(process.env.AUDIT_FILE ?? 'audit.ndjson', body ?? '')
console.log(headers.get('Content-Type'))
