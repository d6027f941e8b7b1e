/** Whether this is a checkout, which runs TypeScript; the published package is JavaScript. */
export const isCheckout: boolean = import.meta.filename.endsWith('.ts')
