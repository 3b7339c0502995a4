import { FlowFabricError } from "../contract/errors.ts";
import { refuseUnknownOptions } from "../contract/option-names.ts";
import { LocalBackend } from "../engine/local-backend.ts";
import { FlowFabric } from "../library/flowfabric.ts";
import type { AnyKinds, Kinds } from "../library/kinds.ts";
import { type OpenOptions, openBackend } from "../library/open.ts";
import type { ServingOptions } from "../server/options.ts";
import { POOLS } from "../server/pools.ts";
import { serveEngine } from "../server/server.ts";
import { withoutPassword } from "../store/shown-url.ts";
import { LISTEN_ALLOWED, type ListenAddress, listenAddress } from "./listen-address.ts";

/** What the engine is told when the server opens its store itself. */
type EngineOptions = Omit<OpenOptions, "actor" | "testClock">;

/** What a server serves, where, and to whom; defaults stand in parentheses. */
export interface StartServerOptions<K extends Kinds<K> = AnyKinds> extends EngineOptions, ServingOptions {
	/** The store to open and to close with the server (`sqlite:./flowfabric.db`). */
	store?: string;
	/** What was opened in this process already, instead of `store` (none); it stays open when the server closes. */
	ff?: FlowFabric<K>;
	/** Where to listen (`127.0.0.1:9090`); port 0 takes a free one. Without a token only a loopback address is accepted. */
	listen?: string | ListenAddress;
	/** One token with the role admin: 16 characters or more (none). */
	token?: string;
}

/** A server that runs in this process. */
export interface StartedServer<K extends Kinds<K> = AnyKinds> {
	/** Such as `http://127.0.0.1:9090`. */
	readonly url: string;
	/** The engine behind the server, in this process: submits and workers need no connection. */
	readonly ff: FlowFabric<K>;
	/** Stops listening, lets calls finish, then stops the workers of `ff` and closes it, unless it was given. */
	close(): Promise<void>;
}

const DEFAULT_STORE = "sqlite:./flowfabric.db";
const DEFAULT_LISTEN = "127.0.0.1:9090";

const ENGINE_OPTIONS = [
	"partitions",
	"retentionMs",
	"sweepMs",
	"scanners",
	"waitpointSecretHex",
	"waitpointGraceMs",
	"publicUrl",
	"onFault",
] as const satisfies readonly (keyof EngineOptions)[];

/** Options that the server below has too. */
const PASSED_ON = [
	"tokens",
	"corsOrigins",
	"openMetrics",
	"docs",
	"pools",
	"requestsPerSecond",
	"requestBurst",
	"maxConnections",
	"requestTimeoutMs",
	"keepAliveMs",
	"unreadMs",
	"unsentBytes",
	"heartbeatMs",
	"graceMs",
	"log",
] as const satisfies readonly (keyof ServingOptions)[];

const OPTIONS: readonly (keyof StartServerOptions)[] = [
	"store",
	"ff",
	"listen",
	"token",
	...PASSED_ON,
	...ENGINE_OPTIONS,
];

/**
 * Starts a server in this process, as `flowfabric serve` does, on a store or on what was opened already. Every option is
 * checked first. Calls are answered from the moment this resolves.
 */
export async function startServer<K extends Kinds<K> = AnyKinds>(
	options: StartServerOptions<K> = {},
): Promise<StartedServer<K>> {
	refuseUnknownOptions("startServer", options, OPTIONS);
	refuseUnknownOptions("pools", options.pools ?? {}, Object.keys(POOLS));
	const { host, port } = addressIn(options.listen ?? DEFAULT_LISTEN);
	const { ff, backend, isOurs } = await fabricIn(options);
	try {
		const { token } = options;
		const server = await serveEngine({
			engine: backend.engine,
			backendFor: (caller) => backend.as(caller),
			host,
			port,
			...(token === undefined ? undefined : { adminToken: token }),
			...given(options, PASSED_ON),
			...(isOurs ? { storeName: withoutPassword(options.store ?? DEFAULT_STORE) } : undefined),
		});
		let closed: Promise<void> | undefined;
		const close = async () => {
			await server.close();
			if (isOurs) await ff.close();
		};
		return { url: server.address, ff, close: () => (closed ??= close()) };
	} catch (error) {
		if (isOurs) await ff.close();
		throw inOurWords(error);
	}
}

interface Fabric<K extends Kinds<K>> {
	ff: FlowFabric<K>;
	backend: LocalBackend;
	/** It was opened here, and is closed here. */
	isOurs: boolean;
}

async function fabricIn<K extends Kinds<K>>(options: StartServerOptions<K>): Promise<Fabric<K>> {
	const { ff, store = DEFAULT_STORE } = options;
	if (ff === undefined) {
		const backend = await openBackend(store, given(options, ENGINE_OPTIONS));
		return { ff: new FlowFabric<K>(backend), backend, isOurs: true };
	}
	const foreign = (["store", ...ENGINE_OPTIONS] as const).find((name) => options[name] !== undefined);
	if (foreign !== undefined) throw invalid(foreign, "says how to open a store, and ff is open already");
	if (!(ff instanceof FlowFabric && ff.backend instanceof LocalBackend))
		throw invalid("ff", "must come from FlowFabric.open: a server needs an engine in its own process");
	return { ff, backend: ff.backend, isOurs: false };
}

/** The options of these names that were given. */
function given<T, const N extends readonly (keyof T)[]>(options: T, names: N): Pick<T, N[number]> {
	const entries = names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
	return Object.fromEntries(entries) as Pick<T, N[number]>;
}

function addressIn(listen: string | ListenAddress): ListenAddress {
	const address = typeof listen === "string" ? listenAddress(listen) : listen;
	if (!address || typeof address.host !== "string" || address.host === "") throw invalid("listen", LISTEN_ALLOWED);
	return address;
}

/** The server below knows some options by other names. */
const OUR_NAMES: Readonly<Record<string, string>> = {
	host: "listen",
	port: "listen",
	adminToken: "token",
};

function inOurWords(error: unknown): unknown {
	if (!(error instanceof FlowFabricError) || error.code !== "invalid_input") return error;
	const name = OUR_NAMES[String(error.details["field"])];
	return name === undefined ? error : invalid(name, error.message.replace(/^[^:]+: /, ""));
}

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
