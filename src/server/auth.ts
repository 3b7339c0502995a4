import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Calls } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { lookOf } from "../contract/looks.ts";
import { SCANNER_NAMES } from "../engine/duties/duty-log.ts";
import { isWithin } from "../kernel/target.ts";
import { ROLES, type Role } from "./access.ts";
import { configError } from "./config-error.ts";
import type { ServerCaller, ServerOptions, TokenEntry } from "./options.ts";
import { limitOf, MAX_RATE, RequestRate } from "./request-rate.ts";

/** Who a request comes from, and the interface as they see it. */
export interface Principal {
	name: string;
	role: Role;
	/** What its token is bound to, if it is. */
	namespace?: string;
	backend: Calls;
	/** Counts its requests, if they are limited. */
	rate?: RequestRate;
	/** Whether a name is that of somebody else whose actions this one's tenant may see in its events. */
	isTaken(name: string): boolean;
}

/** A worker acts under its instance's name: one that is a token's, or a duty's, would pass for it in events. */
export function refuseBorrowedName({ principal }: FastifyRequest, instanceId: unknown): void {
	if (typeof instanceId !== "string" || !principal.isTaken(instanceId)) return;
	throw new FlowFabricError("invalid_input", {
		message: `instanceId: ${JSON.stringify(instanceId)} is the name of somebody else who acts here; choose another`,
		details: { field: "instanceId" },
	});
}

/** Whose share of a pool a call takes: its namespace's, or that of a token which is bound to none. */
export const tenantOf = ({ principal }: FastifyRequest): string =>
	principal.namespace === undefined ? `token ${principal.name}` : `namespace ${principal.namespace}`;

const BEARER = /^Bearer +([^\s]+)$/i;
const NAMESPACE = /^[A-Za-z0-9._-]{1,64}$/;
const HASH = /^[0-9a-f]{64}$/i;

/** What the engine does on its own acts under these names. */
const OURS: ReadonlySet<string> = new Set(SCANNER_NAMES);
/** Whoever brings the token of a waitpoint acts under such a name. */
const BEARERS = /^(signal|callback)wp_/;

const digest = (token: string): Buffer => hash("sha256", token, "buffer");

/** Knows every token by its hash; without any, everybody is the one local administrator. */
export class TokenBook {
	readonly #entries: { hash: Buffer; principal: Principal }[];
	readonly #local: Principal | undefined;

	constructor({ adminToken, tokens = [], backendFor, engine, ...forAll }: ServerOptions) {
		const now = () => engine.clock.monotonic();
		const rateOf = (own: Partial<TokenEntry>): Pick<Principal, "rate"> => {
			const limit = limitOf(own, forAll);
			return limit ? { rate: new RequestRate(limit, now) } : {};
		};
		const entries: TokenEntry[] = tokens.map(checked);
		if (adminToken !== undefined) {
			if (adminToken.length < 16) throw configError("adminToken", "must be at least 16 characters long");
			entries.push({ name: "admin", role: "admin", hash: digest(adminToken).toString("hex") });
		}
		refuseDoubles(entries);
		this.#entries = entries.map(({ name, role, namespace, hash, ...own }) => ({
			hash: Buffer.from(hash, "hex"),
			principal: {
				name,
				role,
				...(namespace === undefined ? undefined : { namespace }),
				backend: backendFor(principalOf(name, namespace)),
				...rateOf(own),
				isTaken: (other) => other !== name && this.#isTaken(lookOf(other), namespace),
			},
		}));
		if (entries.length === 0) {
			const backend = backendFor(principalOf("local"));
			this.#local = { name: "local", role: "admin", backend, ...rateOf({}), isTaken: () => false };
		}
	}

	/** True when calls need a token. */
	get guarded(): boolean {
		return this.#local === undefined;
	}

	/** Tokens of other namespaces are no business of a bound one, and none it is told of. */
	#isTaken(look: string, namespace: string | undefined): boolean {
		if (OURS.has(look) || BEARERS.test(look)) return true;
		return this.#entries.some(({ principal }) => {
			const meets = namespace === undefined || isWithin(namespace, principal.namespace);
			return meets && lookOf(principal.name) === look;
		});
	}

	principalOf(request: FastifyRequest): Principal {
		if (this.#local) return this.#local;
		const { authorization } = request.headers;
		if (authorization === undefined) {
			throw new FlowFabricError("unauthorized", { message: "a token is required: Authorization: Bearer <token>" });
		}
		const token = BEARER.exec(authorization)?.[1];
		const principal = token === undefined ? undefined : this.#find(digest(token));
		if (!principal) throw new FlowFabricError("unauthorized", { message: "the token is unknown" });
		return principal;
	}

	/** Every entry is compared, in constant time each: how long it takes says nothing about what is close. */
	#find(shown: Buffer): Principal | undefined {
		let found: Principal | undefined;
		for (const entry of this.#entries) if (timingSafeEqual(entry.hash, shown)) found = entry.principal;
		return found;
	}
}

/** Names tell who acted. One token under two names would have the rights of either; its hash may be in either case. */
function refuseDoubles(entries: readonly TokenEntry[]): void {
	const looks = new Map<string, string>();
	const owners = new Map<string, string>();
	for (const { name, hash } of entries) {
		const other = looks.get(lookOf(name));
		if (other === name) throw configError("tokens", `names must be unique, but ${name} appears twice`);
		if (other !== undefined) throw configError("tokens", `names must look different, but ${other} and ${name} do not`);
		const owner = owners.get(hash.toLowerCase());
		if (owner !== undefined) throw configError("tokens", `tokens must be unique, but ${owner} and ${name} share one`);
		looks.set(lookOf(name), name);
		owners.set(hash.toLowerCase(), name);
	}
}

export function refuseOtherRoles(principal: Principal, roles: readonly Role[]): void {
	if (roles.includes(principal.role)) return;
	throw new FlowFabricError("forbidden", {
		message: `${principal.name} is a ${principal.role}; this is for ${roles.join(", ")}`,
		details: { role: principal.role, allowed: roles },
	});
}

const principalOf = (actor: string, namespace?: string): ServerCaller =>
	namespace === undefined ? { actor } : { actor, namespace };

function checked(entry: TokenEntry, n: number): TokenEntry {
	const { name, role, namespace, hash } = entry;
	const at = `tokens[${n}]`;
	if (typeof name !== "string" || name.length < 1 || name.length > 256) {
		throw configError(`${at}.name`, "must be a string of 1 to 256 characters");
	}
	if (!ROLES.includes(role)) throw configError(`${at}.role`, `must be one of ${ROLES.join(", ")}`);
	if (typeof hash !== "string" || !HASH.test(hash))
		throw configError(`${at}.hash`, "must be a SHA-256 as 64 hex digits");
	if (namespace !== undefined && !NAMESPACE.test(namespace)) {
		throw configError(`${at}.namespace`, "must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
	}
	for (const field of ["requestsPerSecond", "requestBurst"] as const) {
		const value = entry[field];
		if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= MAX_RATE))
			throw configError(`${at}.${field}`, `must be an integer from 1 to ${MAX_RATE}`);
	}
	return entry;
}
