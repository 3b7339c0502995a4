import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { LocalBackend } from "../../../src/engine/local-backend.ts";
import { openBackend } from "../../../src/library/open.ts";
import { ROLES, type Role, type RouteName } from "../../../src/server/access.ts";
import { makeApp } from "../../../src/server/app.ts";
import { silentLog } from "../../../src/server/log.ts";
import { ServerMetrics } from "../../../src/server/metrics.ts";
import type { RunningServer } from "../../../src/server/options.ts";
import { makePools } from "../../../src/server/pools.ts";
import { serveEngine } from "../../../src/server/server.ts";
import { allRecords } from "../../../src/store/scanning.ts";
import { entry, tokenOf } from "../stand.ts";
import { NAMES, type Name, type Values } from "./names.ts";
import type { Recipe } from "./recipe.ts";
import { Made } from "./tenant.ts";

export interface Caller {
	role: Role;
	isBound?: boolean;
	/** Shown instead of the role's own. */
	token?: string | undefined;
}

export interface Answer {
	status: number;
	/** The code of a refusal. */
	code: string[];
	headers: Record<string, string>;
	text: string;
}

const OURS = "tenant-ours";
/** Names of the other tenant begin with this, names of nobody with the other word of the same length. */
const [HIDDEN, NOBODY] = ["hidden", "nobody"];
const SECRET = randomBytes(8).toString("hex");
const ID = /\b[a-z]{2}_([0-9a-f]{32})_\d+/g;

const tokenName = ({ role, isBound }: Caller): string => `${role}-${isBound ? "bound" : "free"}`;

/** Two tenants on one server, and what each of them gets to see. */
export class Matrix {
	readonly #backend: LocalBackend;
	readonly #server: RunningServer;
	readonly #foreign: Made;
	readonly #foreignIds = new Set<string>();
	#count = 0;

	private constructor(backend: LocalBackend, server: RunningServer) {
		this.#backend = backend;
		this.#server = server;
		this.#foreign = new Made(backend, { namespace: `${HIDDEN}-space`, mark: HIDDEN, secret: SECRET });
	}

	static async open(store: string): Promise<Matrix> {
		const backend = await openBackend(store, {});
		const callers = ROLES.flatMap((role): Caller[] => [{ role }, { role, isBound: true }]);
		const tokens = callers.map((caller) => entry(tokenName(caller), caller.role, caller.isBound ? OURS : undefined));
		const backendFor = (caller: { actor: string; namespace?: string }) => backend.as(caller);
		const server = await serveEngine({ engine: backend.engine, backendFor, tokens, port: 0 });
		const matrix = new Matrix(backend, server);
		await matrix.#foreign.names(...NAMES);
		await matrix.foreignState();
		return matrix;
	}

	/** Every route the server answers. */
	async registered(): Promise<string[]> {
		const { engine } = this.#backend;
		const pools = makePools();
		const metrics = new ServerMetrics(engine, pools);
		const context = {
			log: silentLog(),
			metrics,
			pools,
			waiting: new Set<never>(),
			tails: new Set<never>(),
			closing: false,
		};
		const { app } = await makeApp({ engine, backendFor: (caller) => this.#backend.as(caller) }, context);
		try {
			return routesIn(app.printRoutes({ commonPrefix: false }));
		} finally {
			metrics.close();
			await app.close();
		}
	}

	async close(): Promise<void> {
		await this.#server.close();
		await this.#backend.close();
	}

	/** Things of the caller's own, made when they are named. */
	own(): Made {
		const mark = `ours-${++this.#count}`;
		return new Made(this.#backend, { namespace: OURS, mark, secret: mark });
	}

	/** Things of the other tenant, and things of the same form that are not there. */
	async others(names: readonly Name[]): Promise<[foreign: Partial<Values>, unknown: Partial<Values>]> {
		const foreign = await this.#foreign.names(...names);
		return [foreign, JSON.parse(unknownLike(JSON.stringify(foreign)))];
	}

	async ask(route: RouteName, recipe: Recipe, values: Partial<Values>, caller: Caller): Promise<Answer> {
		const { params = {}, query = {}, body, headers } = recipe.ask(values as Values, caller.role);
		const [method = "", form = ""] = route.split(" ");
		const path = form.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
		const said = Object.entries(query).filter(([, value]) => value !== undefined);
		const search = new URLSearchParams(Object.fromEntries(said.map(([name, value]) => [name, String(value)])));
		const token = "token" in caller ? caller.token : tokenOf(tokenName(caller));
		const stop = new AbortController();
		const response = await fetch(`${this.#server.address}${path}?${search}`, {
			method,
			signal: stop.signal,
			headers: {
				...(body === undefined ? undefined : { "content-type": "application/json" }),
				...(token === undefined ? undefined : { authorization: `Bearer ${token}` }),
				...headers,
			},
			...(body === undefined ? undefined : { body: JSON.stringify(body) }),
		});
		const { date: _, "x-request-id": __, ...told } = Object.fromEntries(response.headers);
		const isStream = told["content-type"]?.startsWith("text/event-stream");
		const text = isStream ? "" : await response.text();
		stop.abort();
		const code = response.status < 400 ? [] : [JSON.parse(text).error.code];
		return { status: response.status, code, headers: told, text };
	}

	/** No word and no id of the other tenant, but those that were sent. */
	expectNothingForeign({ text }: Answer, sent: Partial<Values>): void {
		expect(text).not.toContain(SECRET);
		const said = idsIn(JSON.stringify(sent));
		for (const id of idsIn(text)) if (!said.has(id)) expect([...this.#foreignIds]).not.toContain(id);
	}

	/** Every record of the other tenant, but those of its grant, which lapses by itself; sorted, since a scan has no order. */
	async foreignState(): Promise<string[]> {
		const { store } = this.#backend.engine;
		const { executionId } = await this.#foreign.granted();
		const found: string[] = [];
		for (let partition = 0; partition < store.partitions; partition++) {
			for await (const { key, version, doc } of allRecords(store, partition, 1000)) {
				const text = `${partition} ${key} ${version} ${doc}`;
				const isPart = !key.includes(OURS) && [...idsIn(key)].some((id) => this.#foreignIds.has(id));
				if (!isPart && !text.includes(`${HIDDEN}-space`)) continue;
				if (!text.includes(executionId)) found.push(text);
				for (const id of idsIn(text)) this.#foreignIds.add(id);
			}
		}
		return found.sort();
	}
}

const idsIn = (text: string): Set<string> => new Set([...text.matchAll(ID)].map(([, id]) => id as string));

/** The same with names and ids of nobody, as long as before. */
function unknownLike(text: string): string {
	const flipped = (hex: string) => hex.replace(/./g, (digit) => (15 - Number.parseInt(digit, 16)).toString(16));
	return text
		.replaceAll(HIDDEN, NOBODY)
		.replace(ID, (id, hex: string) => id.replace(hex, flipped(hex)))
		.replace(/(?<=k1\.)[\w-]+/, (signature) => [...signature].reverse().join(""));
}

/**
 * An answer without names, ids and times. What was sent of nobody is as long as what was sent of the other tenant, so
 * equal texts mean equal lengths.
 */
export function anonymous({ status, headers, text }: Answer): unknown {
	const { "content-length": length, ...told } = headers;
	if (length !== undefined) expect(Number(length)).toBe(Buffer.byteLength(text));
	const plain = text
		.replaceAll(HIDDEN, NOBODY)
		.replace(ID, "<id>")
		.replace(/\b1[5-9]\d{11}\b/g, "<time>")
		.replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"…"');
	return { status, headers: told, text: plain };
}

/** Which names of a request are another's, and which are left out. */
interface Mix {
	theirs: readonly Name[];
	unsaid: Partial<Values>;
}

/** Each name alone, all of them, and all but the namespace, which then is the caller's. With its token, a waitpoint is for everybody. */
export function mixes(names: readonly Name[], isOpen: boolean): Mix[] {
	const all = isOpen ? names.filter((name) => name !== "token") : names;
	const unspaced = names.filter((name) => name !== "namespace");
	const found: Mix[] = [...names.map((name) => ({ theirs: [name], unsaid: {} })), { theirs: all, unsaid: {} }];
	if (unspaced.length < names.length) found.push({ theirs: unspaced, unsaid: { namespace: undefined } as never });
	return found;
}

/** Methods and paths of the tree that Fastify prints: one part of a path per line, four columns per level. */
function routesIn(tree: string): string[] {
	const parts: string[] = [];
	const routes: string[] = [];
	for (const line of tree.split("\n").filter((each) => each !== "")) {
		const [, indent = "", part = "", methods = ""] = /^([│ ]*)[├└]── (\S*)(?: \((.+)\))?$/.exec(line) ?? [];
		parts.splice(indent.length / 4, Number.POSITIVE_INFINITY, part);
		for (const method of methods.split(", ").filter((each) => each !== "")) routes.push(`${method} ${parts.join("")}`);
	}
	return routes;
}
