import { type IncomingHttpHeaders, request as send } from "node:http";
import { ERRORS } from "../../../src/kernel/errors.ts";
import { Random } from "../../simulation/random.ts";
import { brokenValue, oddValue, type Samples, type Schema, validValue } from "./random-value.ts";

/** One operation of the OpenAPI document. */
interface Operation {
	method: string;
	path: string;
	query: Schema;
	body: Schema | undefined;
}

export interface Answer {
	status: number;
	headers: IncomingHttpHeaders;
	text: string;
}

export interface Attack {
	method: string;
	path: string;
	headers: Record<string, string>;
	body: string | undefined;
}

/** What an attack found wrong with an answer. */
export interface Complaint {
	attack: Attack;
	answer: Answer;
	problem: string;
}

/** Random requests made from a server's own description: valid ones, slightly wrong ones, and nonsense. */
export class Attacker {
	readonly #random: Random;
	readonly #operations: Operation[];
	readonly #tokens: readonly string[];
	readonly #ids: string[] = [];
	readonly #fences: { id: string; fence: object }[] = [];
	readonly #waitpoints: { id: string; token: string }[] = [];
	readonly statuses = new Map<number, number>();

	constructor(seed: number, openApi: unknown, tokens: readonly string[]) {
		this.#random = new Random(seed);
		this.#operations = operationsOf(openApi);
		this.#tokens = tokens;
	}

	next(): Attack {
		const random = this.#random;
		const { method, path, query, body } = random.pick(this.#operations);
		const broken = random.chance(0.5);
		const held = this.#fences.length > 0 ? random.pick(this.#fences) : undefined;
		const make = broken && random.chance(0.5) ? brokenValue : validValue;
		const headers: Record<string, string> = { authorization: `Bearer ${random.pick(this.#tokens)}` };
		if (broken && random.chance(0.1)) delete headers.authorization;
		if (random.chance(0.05)) headers.accept = "text/event-stream, application/json";
		const given = body && make(body, "", random, this.#samples(held));
		return {
			method: broken && random.chance(0.03) ? random.pick(["PUT", "PATCH", "OPTIONS", "TRACE"]) : method,
			path: this.#path(path, held?.id) + this.#query(query, broken),
			headers: this.#typed(headers, broken),
			body: given === undefined ? undefined : this.#text(given, broken),
		};
	}

	/** Takes in what an answer tells, and says what is wrong with it. */
	judge(attack: Attack, answer: Answer): Complaint | undefined {
		this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
		const problem = problemWith(answer);
		if (problem) return { attack, answer, problem };
		if (answer.status < 300 && answer.headers["content-type"]?.startsWith("application/json")) this.#learn(answer.text);
		return undefined;
	}

	#learn(text: string): void {
		let said: {
			id?: string;
			items?: { id?: string }[];
			executions?: { id: string; lease?: { id: string; epoch: number } }[];
			waitpoints?: { id: string; token?: string }[];
		} | null;
		try {
			said = JSON.parse(text);
		} catch {
			// The bytes of an input are whatever was sent, also under a type that promises more.
			return;
		}
		if (typeof said !== "object" || said === null) return;
		if (said.id) keep(this.#ids, said.id);
		for (const { id, token } of said.waitpoints ?? []) if (token) keep(this.#waitpoints, { id, token });
		for (const item of said.items ?? []) if (item?.id) keep(this.#ids, item.id);
		for (const { id, lease } of said.executions ?? []) {
			if (lease) keep(this.#fences, { id, fence: { leaseId: lease.id, epoch: lease.epoch } });
		}
	}

	#samples(held: { id: string; fence: object } | undefined): Samples {
		const { id: waitpointId, token } =
			this.#waitpoints.length > 0 ? this.#random.pick(this.#waitpoints) : { id: "wp_1", token: "k1.x" };
		return {
			condition: (random) =>
				random.pick([
					{ signal: "go" },
					{ anySignal: true, waitpoint: "w" },
					{ count: { n: 2, distinctBy: "source" } },
					{ anyOf: [{ allOf: [{ signal: "go" }, { signal: "stop" }] }, { operatorOnly: true }] },
				]),
			waitpoints: () => [{ key: "w" }],
			waitpointId: () => waitpointId,
			token: () => token,
			kind: (random) => random.pick(["a", "b"]),
			lane: (random) => random.pick(["default", "other"]),
			lanes: () => ["default", "other"],
			kinds: () => ["a", "b"],
			namespace: (random) => random.pick(["default", "tenant", "other"]),
			workerId: () => "w",
			instanceId: () => "i",
			waitMs: () => 1,
			timeoutMs: () => 1,
			delayMs: (random) => random.integer(0, 1000),
			delayUntil: () => Date.now() + 500,
			createdAfter: () => 0,
			executionId: () => held?.id ?? this.#id(),
			fence: () => held?.fence ?? { leaseId: `le_${"0".repeat(32)}_0`, epoch: 1 },
			inputBase64: () => "AAH/",
			payloadBase64: () => "AAH/",
			after: (random) => random.pick(["start", "end", "0-0", "3-1"]),
			from: (random) => random.pick(["0-0", "1-0"]),
			to: (random) => random.pick(["0-0", "9-0"]),
			resultBase64: () => "AAH/",
			contentType: (random) => random.pick(["application/json", "text/plain", "application/octet-stream"]),
			traceparent: () => `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
			tag: () => "team:a",
			tags: () => ({ team: "a" }),
		};
	}

	#id(): string {
		const random = this.#random;
		if (this.#ids.length > 0 && random.chance(0.8)) return random.pick(this.#ids);
		return `ex_${"0123456789abcdef".repeat(2)}_${random.integer(0, 16383)}`;
	}

	#path(path: string, held: string | undefined): string {
		const random = this.#random;
		return path.replace(/\{(\w+)\}/g, (_, name: string) => {
			if (random.chance(0.1)) return inUrl(oddValue(random));
			if (random.chance(0.05)) return random.pick(["%", "%00", "..%2f..%2f", "%ff", "a%2fb", ";", "%2e%2e"]);
			if (name === "instanceId") return "i";
			if (name === "n") return random.pick(["0", "1"]);
			if (name === "wp" && this.#waitpoints.length > 0) return random.pick(this.#waitpoints).id;
			return held && random.chance(0.5) ? held : this.#id();
		});
	}

	#query(schema: Schema, broken: boolean): string {
		const random = this.#random;
		const given = validValue(schema, "", random, this.#samples(undefined)) as Record<string, unknown>;
		// A wait that names no time takes long.
		if (schema.properties?.timeoutMs) given.timeoutMs ??= 1;
		if (broken && random.chance(0.3)) given[random.pick(["nope", "limit", "cursor", "waitMs"])] = oddValue(random);
		const pairs = Object.entries(given).map(([name, value]) => `${name}=${inUrl(value)}`);
		if (broken && random.chance(0.05)) pairs.push("limit=%", "limit=1");
		return pairs.length > 0 ? `?${pairs.join("&")}` : "";
	}

	#typed(headers: Record<string, string>, broken: boolean): Record<string, string> {
		const random = this.#random;
		headers["content-type"] =
			broken && random.chance(0.1)
				? random.pick(["text/plain", "application/xml", "application/json; charset=utf-16", "x", "multipart/form-data"])
				: "application/json";
		if (broken && random.chance(0.05)) headers["x-request-id"] = random.pick(["x".repeat(500), "a b", "ok-1"]);
		if (broken && random.chance(0.05)) headers["last-event-id"] = "not a cursor";
		return headers;
	}

	#text(value: unknown, broken: boolean): string {
		const random = this.#random;
		const text = JSON.stringify(value) ?? "undefined";
		if (!broken || random.chance(0.8)) return text;
		return random.pick([
			text.slice(0, Math.floor(text.length / 2)),
			`${text}x`,
			"",
			"{",
			"[".repeat(2000),
			`{"kind":"a","kind":"b"}`,
			`{"__proto__":{"kind":"a"}}`,
			"\u0000",
		]);
	}
}

/** Every refusal has the one form, a code of the table and that code's status; nothing ever fails inside. */
function problemWith({ status, headers, text }: Answer): string | undefined {
	if (status >= 500) return `answered ${status}`;
	if (status < 400) return undefined;
	if (!headers["content-type"]?.startsWith("application/json")) return "a refusal that is not JSON";
	let error: { code?: string; message?: string; retryable?: boolean } | undefined;
	try {
		({ error } = JSON.parse(text) as { error?: typeof error });
	} catch {
		return "a refusal that cannot be parsed";
	}
	const row = ERRORS[error?.code as keyof typeof ERRORS];
	if (!row) return `an unknown code ${error?.code}`;
	if (row.status !== status) return `${error?.code} with status ${status} instead of ${row.status}`;
	if (!error?.message || error.retryable !== row.retryable) return "a refusal without its message or retryable";
	return undefined;
}

function operationsOf(openApi: unknown): Operation[] {
	const { paths } = openApi as {
		paths: Record<
			string,
			Record<
				string,
				{
					parameters?: { name: string; in: string; schema: Schema; required?: boolean }[];
					requestBody?: { content: Record<string, { schema: Schema }> };
				}
			>
		>;
	};
	return Object.entries(paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
			const asked = parameters.filter((parameter) => parameter.in === "query");
			return {
				method: method.toUpperCase(),
				path,
				query: {
					type: "object",
					properties: Object.fromEntries(asked.map(({ name, schema }) => [name, schema])),
					required: asked.filter(({ required }) => required).map(({ name }) => name),
				},
				body: requestBody?.content["application/json"]?.schema,
			};
		}),
	);
}

/** Sends one and hears the answer; streams are read until their first bytes. */
export function strike(origin: URL, { method, path, headers, body }: Attack): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const bytes = body === undefined ? undefined : Buffer.from(body);
		const call = send(
			{
				host: origin.hostname,
				port: origin.port,
				method,
				path,
				headers: bytes ? { ...headers, "content-length": String(bytes.length) } : headers,
				setHost: true,
			},
			(response) => {
				const chunks: Buffer[] = [];
				const { statusCode: status = 0, headers: answered } = response;
				const done = () => resolve({ status, headers: answered, text: Buffer.concat(chunks).toString() });
				if (answered["content-type"]?.startsWith("text/event-stream")) {
					done();
					call.destroy();
					return;
				}
				response.on("data", (chunk: Buffer) => chunks.push(chunk));
				response.on("end", done);
				response.on("error", reject);
			},
		);
		call.on("error", reject);
		call.end(bytes);
	});
}

/** A value as part of a URL, of a length that some servers take. */
function inUrl(value: unknown): string {
	const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
	return encodeURIComponent(text.slice(0, 1000).toWellFormed());
}

/** A bounded memory: the latest hundred. */
function keep<T>(list: T[], value: T): void {
	list.push(value);
	if (list.length > 100) list.shift();
}
