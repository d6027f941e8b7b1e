/**
 * The script of Redoc, which renders the API reference. The published package contains it; a checkout takes it from the
 * tool that lints the contract. Throws when that tool is not installed, as in an installation without development
 * dependencies.
 */
export declare function readRedoc(): string
/** The licenses of Redoc and of the software that it contains. */
export declare const redocLicenses: () => URL[]
//# sourceMappingURL=redoc.d.ts.map
