/** Whether this is a checkout, which runs TypeScript; the published package is JavaScript. */
export declare const isCheckout: boolean
//# sourceMappingURL=checkout.d.ts.map
