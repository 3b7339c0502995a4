import type { Role } from "../../../src/server/access.ts";
import { Random } from "../../simulation/random.ts";
import { problemWith } from "./judge.ts";
import { type About, Learned } from "./learned.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { blownValue, brokenValue, oddValue, type Schema, validValue } from "./random-value.ts";
import { ROUGH_WAYS, type RoughWay } from "./rough-sockets.ts";
import type { Answer, Request } from "./strike.ts";

/** A token that attackers hold. */
export interface Weapon {
	token: string;
	role: Role;
	/** Bound to a namespace; the others may look into any. */
	isBound: boolean;
}

export interface Attack {
	/** Its seed repeats it, as far as ids that the server drew allow. */
	seed: number;
	request: Request;
	/** How it is sent, if not as HTTP asks for. */
	rough: RoughWay | undefined;
	/** Such as `GET /v1/executions/{id}`. */
	route: string;
	isBound: boolean;
}

/** What an attack found wrong with an answer. */
export interface Complaint {
	attack: Attack;
	answer: Answer;
	problem: string;
}

const KIB = 1024;
/** Routes whose bodies may be as large as 32 MiB. */
const JOINT = ["/v1/executions/batch", "/v1/leases/complete", "/v1/flows"];

/** Random requests made from a server's own description: valid ones, slightly wrong ones, huge ones, and nonsense. */
export class Attacker {
	readonly #operations: Operation[];
	readonly #weapons: readonly Weapon[];
	readonly #foreignIds: readonly string[];
	/** Holders of bound tokens and of others learn nothing from each other: what one may see the other may not know of. */
	readonly #bound = new Learned(["hostile", "hostile", "hostile", "neighbour", "default"]);
	readonly #unbound = new Learned(["default", "hostile"]);
	readonly #neverDone: Set<string>;
	readonly statuses = new Map<number, number>();

	/** The foreign ids are those of the second tenant. */
	constructor(openApi: unknown, weapons: readonly Weapon[], foreignIds: readonly string[]) {
		this.#operations = operationsOf(openApi);
		this.#neverDone = new Set(this.#operations.map(({ method, path }) => `${method} ${path}`));
		this.#weapons = weapons;
		this.#foreignIds = foreignIds;
	}

	attack(seed: number): Attack {
		const random = new Random(seed);
		const operation = random.pick(this.#operations);
		const weapon = this.#weapon(operation, random);
		const rough = random.chance(0.02) ? random.pick(ROUGH_WAYS) : undefined;
		const isBroken = random.chance(0.4);
		const isBound = weapon?.isBound ?? true;
		const request = this.#request(operation, { random, isBroken, isBound });
		if (weapon) request.headers.authorization = `Bearer ${weapon.token}`;
		return { seed, request, rough, route: `${operation.method} ${operation.path}`, isBound };
	}

	/** Takes in what an answer tells, and says what is wrong with it. */
	judge(attack: Attack, answer: Answer): Complaint | undefined {
		this.count(answer.status);
		const problem = problemWith(answer, attack.isBound);
		if (problem) return { attack, answer, problem };
		const isJson = answer.headers["content-type"]?.startsWith("application/json") === true;
		if (answer.status < 300) this.#neverDone.delete(attack.route);
		if (answer.status < 300 && isJson)
			this.#learned(attack.isBound).learn(areaOf(attack.route), attack.request.path, answer.text);
		return undefined;
	}

	/** Routes that have refused everything so far. */
	get neverDone(): string[] {
		return [...this.#neverDone];
	}

	count(status: number): void {
		this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
	}

	#learned(isBound: boolean): Learned {
		return isBound ? this.#bound : this.#unbound;
	}

	/** Mostly a token that may, so that there is something behind the door; else any, a wrong one or none. */
	#weapon({ roles }: Operation, random: Random): Weapon | undefined {
		if (random.chance(0.04)) return undefined;
		if (random.chance(0.03)) return { token: "a-token-nobody-has-given-out", role: "viewer", isBound: true };
		if (random.chance(0.2)) return random.pick(this.#weapons);
		return random.pick(this.#weapons.filter(({ role }) => roles.includes(role)));
	}

	#request(operation: Operation, how: { random: Random; isBroken: boolean; isBound: boolean }): Request {
		const { random, isBroken, isBound } = how;
		const { method, path, query, body } = operation;
		const about = this.#learned(isBound).about(path, random);
		const headers: Record<string, string> = {};
		if (random.chance(0.05)) headers.accept = "text/event-stream, application/json";
		return {
			method: isBroken && random.chance(0.03) ? random.pick(["PUT", "PATCH", "OPTIONS", "TRACE"]) : method,
			path: this.#path(path, how, about) + this.#query(query, { ...how, about }),
			headers: typed(headers, random, isBroken),
			body: body && this.#body(path, body, { ...how, about }),
		};
	}

	#body(
		path: string,
		schema: Schema,
		how: { random: Random; isBroken: boolean; isBound: boolean; about: About },
	): string {
		const { random, isBroken, about } = how;
		const samples = this.#learned(how.isBound).samples(about);
		if (random.chance(0.01)) return asText(blownValue(schema, random, samples, sizeFor(path, random)));
		const make = isBroken && random.chance(0.5) ? brokenValue : validValue;
		const text = asText(make(schema, "", random, samples));
		return isBroken && random.chance(0.2) ? damaged(text, random) : text;
	}

	#path(path: string, { random, isBound }: { random: Random; isBound: boolean }, { held, waitpoint }: About): string {
		return path.replace(/\{(\w+)\}/g, (_, name: string) => {
			if (random.chance(0.06)) return inUrl(oddValue(random));
			if (random.chance(0.04)) return random.pick(ODD_PARTS);
			if (name === "instanceId") return `i${random.integer(1, 3)}`;
			if (name === "lane") return random.pick(["default", "other", "third", "fourth"]);
			if (name === "node") return random.pick(["a", "b"]);
			if (name === "n") return random.pick(["0", "1"]);
			if (name === "wp") return waitpoint.id;
			if (isBound && random.chance(0.15)) return random.pick(this.#foreignIds);
			if (random.chance(0.1)) return `ex_${"0123456789abcdef".repeat(2)}_${random.integer(0, 16_383)}`;
			const area = areaOf(path);
			if (held && area === "executions" && random.chance(0.5)) return held.id;
			return inUrl(this.#learned(isBound).id(area, random) ?? "b");
		});
	}

	#query(
		schema: Schema,
		{ random, isBroken, isBound, about }: { random: Random; isBroken: boolean; isBound: boolean; about: About },
	): string {
		const given = validValue(schema, "", random, this.#learned(isBound).samples(about)) as Record<string, unknown>;
		// A wait that names no time takes long.
		if (schema.properties?.timeoutMs) given.timeoutMs ??= 1;
		if (isBroken && random.chance(0.3)) given[random.pick(["nope", "limit", "cursor", "waitMs"])] = oddValue(random);
		const pairs = Object.entries(given).map(([name, value]) => `${name}=${inUrl(value)}`);
		if (isBroken && random.chance(0.05)) pairs.push("limit=%", "limit=1");
		return pairs.length > 0 ? `?${pairs.join("&")}` : "";
	}
}

/** As `executions` in `/v1/executions/{id}`. */
const areaOf = (path: string): string => path.split("/")[2] ?? "";

/** Every order of magnitude is as likely as the next: most are small, some as large as a route takes or larger. */
function sizeFor(path: string, random: Random): number {
	const largest = JOINT.includes(path) && random.chance(0.2) ? 34 * KIB * KIB : 1.6 * KIB * KIB;
	return KIB * (largest / KIB) ** random.next();
}

const asText = (value: unknown): string => JSON.stringify(value) ?? "undefined";

const ODD_PARTS = [
	"%",
	"%00",
	"..%2f..%2f",
	"%ff",
	"a%2fb",
	";",
	"%2e%2e",
	"x".repeat(3000),
	"%F0%9F%A6%8A",
	"%E2%80%AE",
];

function typed(headers: Record<string, string>, random: Random, isBroken: boolean): Record<string, string> {
	headers["content-type"] =
		isBroken && random.chance(0.1)
			? random.pick(["text/plain", "application/xml", "application/json; charset=utf-16", "x", "multipart/form-data"])
			: "application/json";
	if (isBroken && random.chance(0.05)) headers["x-request-id"] = random.pick(["x".repeat(500), "a b", "ok-1"]);
	if (isBroken && random.chance(0.05)) headers["last-event-id"] = "not a cursor";
	return headers;
}

function damaged(text: string, random: Random): string {
	return random.pick([
		text.slice(0, Math.floor(text.length / 2)),
		`${text}x`,
		"",
		"{",
		"[".repeat(random.pick([600, 60_000])),
		`{"input":${"[".repeat(30_000)}${"]".repeat(30_000)}}`,
		`{"kind":"a","kind":"b"}`,
		`{"__proto__":{"kind":"a"}}`,
		"\u0000",
	]);
}

/** A value as part of a URL, of a length that some servers take. */
function inUrl(value: unknown): string {
	const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
	return encodeURIComponent(text.slice(0, 1000).toWellFormed());
}
