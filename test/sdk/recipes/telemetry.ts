import { createReferralClient } from '@referral/sdk'
import { withOpenTelemetry } from '@referral/sdk/otel'

const client = createReferralClient(
  withOpenTelemetry({
    apiKey: process.env.REFERRAL_API_KEY,
    baseUrl: process.env.REFERRAL_BASE_URL,
    onEnd: ({ path, status, attempt, durationMs }) => console.log(path, status, attempt, durationMs >= 0),
  }),
)

await client.programs.list()
