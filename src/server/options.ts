import type { Calls } from "../contract/backend.ts";
import type { Engine } from "../engine/engine.ts";
import type { Role } from "./access.ts";
import type { ServerLog } from "./log.ts";
import type { PoolName } from "./pools.ts";

/** One who may call. The token itself is never kept: its SHA-256 is. */
export interface TokenEntry {
	/** Who acts, in events, as `createdBy` and in audit lines. */
	name: string;
	/** What its holder may do. */
	role: Role;
	/** Everything outside this namespace does not exist for its holder. */
	namespace?: string;
	/** SHA-256 of the token as 64 hex digits. */
	hash: string;
	/** Requests it may send per second to this server, instead of the server's `requestsPerSecond`. */
	requestsPerSecond?: number;
	/** How many of them may come at once after a pause (twice its rate). */
	requestBurst?: number;
}

/** On whose behalf a call is made. */
export interface ServerCaller {
	actor: string;
	namespace?: string;
}

/** How a server serves, whoever starts it; defaults stand in parentheses. */
export interface ServingOptions {
	/** Tokens by their SHA-256, each with a name, a role and perhaps a namespace (none). */
	tokens?: readonly TokenEntry[];
	/** Origins whose pages may call the API (none). */
	corsOrigins?: readonly string[];
	/** Shows `/metrics` to everyone, not only on loopback and to tokens (false). */
	openMetrics?: boolean;
	/** Serves `/docs` and `/openapi.json` (true). */
	docs?: boolean;
	/** Most calls of a kind that may wait at the same time, by pool (1024; 64 reads of streams, 4 large bodies, 2 backups). */
	pools?: Partial<Record<PoolName, number>>;
	/** Requests that each token may send per second; more are refused (no limit). */
	requestsPerSecond?: number;
	/** How many of them may come at once after a pause (twice the rate). */
	requestBurst?: number;
	/** Most open connections (8192). */
	maxConnections?: number;
	/** How long a request may take to arrive and to be answered (30000); a wait it asks for comes on top. */
	requestTimeoutMs?: number;
	/** How long an idle connection is kept (72000). */
	keepAliveMs?: number;
	/** How long a reader may take nothing of its answer before its connection is cut (60000). */
	unreadMs?: number;
	/** How many bytes of answers may wait for all readers together before those that hold most are cut (268435456). */
	unsentBytes?: number;
	/** Silence after which a stream of events is sent a comment (15000). */
	heartbeatMs?: number;
	/** How long `close()` lets calls finish (10000). */
	graceMs?: number;
	/** A pino logger, such as `makeLog` makes (none: nothing is logged). */
	log?: ServerLog;
}

/** Everything a server is told when it starts; `serveEngine` checks it all before it listens. */
export interface ServerOptions extends ServingOptions {
	/** The engine behind the backend, for metrics and readiness. */
	engine: Engine;
	/** The interface as one principal sees it; asked once per token. */
	backendFor(principal: ServerCaller): Calls;
	/** Where to listen (127.0.0.1). Without any token only a loopback address is accepted. */
	host?: string;
	/** 0 takes a free port (9090). */
	port?: number;
	/** One token that may do everything; its name is `admin`. */
	adminToken?: string;
	/** Shown in the start line: which store this is. Never its password. */
	storeName?: string;
}

export interface RunningServer {
	/** Such as `http://127.0.0.1:9090`. */
	address: string;
	port: number;
	/** Stops accepting, ends waits and tails, lets calls finish; the engine stays open and is its opener's to close. */
	close(): Promise<void>;
}
