/**
 * Returns a new webhook secret: 72 characters with 244 random bits.
 *
 * @example
 * const secret = generateSecret()
 * await client.webhooks.create({ url: 'https://shop.example/hooks', secret })
 */
export const generateSecret = (): string => crypto.randomUUID() + crypto.randomUUID()
