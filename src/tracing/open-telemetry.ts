import { createRequire } from "node:module";

export type OpenTelemetry = typeof import("@opentelemetry/api");

/** Where every copy of OpenTelemetry's API in a process keeps what was registered with it. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

const require = createRequire(import.meta.url);
let api: OpenTelemetry | undefined;

/** OpenTelemetry's API, once a program has registered something with it; nobody else pays for loading it. */
export function openTelemetry(): OpenTelemetry | undefined {
	if (!api && REGISTERED in globalThis) api = require("@opentelemetry/api") as OpenTelemetry;
	return api;
}
