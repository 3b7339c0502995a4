import { request as send } from "node:http";
import { SECRET } from "./judge.ts";
import { Latencies } from "./latencies.ts";
import { Striker } from "./strike.ts";

interface Claimed {
	id: string;
	lease: { id: string; epoch: number };
	attempt: { index: number };
}

export interface NeighbourTokens {
	submitter: string;
	worker: string;
	operator: string;
}

/** Jobs done at the same time. */
const AT_ONCE = 4;
/** Between two jobs: an honest tenant does not use all that the server has. */
const PAUSE_MS = 100;
const PATIENCE_MS = 20_000;

/**
 * A second tenant that only wants its work done: it creates, claims, streams and follows the stream, suspends and approves,
 * completes and waits. It checks every answer, and measures how long each kind of call takes.
 */
export class Neighbour {
	readonly #address: URL;
	readonly #striker: Striker;
	readonly #tokens: NeighbourTokens;
	#latencies = new Latencies();
	#stopping = false;
	#running: Promise<unknown> = Promise.resolve();
	done = 0;

	constructor(address: string, tokens: NeighbourTokens) {
		this.#address = new URL(address);
		this.#striker = new Striker(address, 4 * AT_ONCE);
		this.#tokens = tokens;
	}

	/** Work that nobody else may see or change, and how it looks. */
	async keepsake(): Promise<{ id: string; look: () => Promise<string> }> {
		const body = { kind: "kept", input: SECRET, delayMs: 86_400_000, tags: { owner: SECRET } };
		const { id } = await this.#call<{ id: string }>("submitter", "POST", "/v1/executions", body);
		return { id, look: async () => JSON.stringify(await this.#call("submitter", "GET", `/v1/executions/${id}`)) };
	}

	start(): void {
		this.#stopping = false;
		this.#running = Promise.all(Array.from({ length: AT_ONCE }, (_, n) => this.#work(n)));
		// Whoever stops it hears of it.
		this.#running.catch(() => {});
	}

	/** Finishes what it has begun. */
	async stop(): Promise<Latencies> {
		this.#stopping = true;
		await this.#running;
		return this.#latencies;
	}

	/** What was measured until now; from here on it measures anew. */
	take(): Latencies {
		const taken = this.#latencies;
		this.#latencies = new Latencies();
		return taken;
	}

	/** Rejects when a job has failed. */
	get failure(): Promise<unknown> {
		return this.#running;
	}

	close(): void {
		this.#striker.close();
	}

	async #work(worker: number): Promise<void> {
		for (let n = 0; !this.#stopping; n++) {
			await this.#job(`job-${worker}`, n);
			this.done += 1;
			await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
		}
	}

	async #job(kind: string, n: number): Promise<void> {
		const latencies = this.#latencies;
		const claim = (waitMs: number) =>
			this.#call<{ executions: Claimed[] }>("worker", "POST", "/v1/claims", {
				workerId: kind,
				instanceId: kind,
				kinds: [kind],
				waitMs,
			});
		// Every other job is waited for before it is there.
		const waiting = n % 2 === 0 ? claim(PATIENCE_MS) : undefined;
		// A job that fails meanwhile says why by itself.
		waiting?.catch(() => {});
		const input = { n, owner: SECRET };
		const { id } = await latencies.of(
			"create",
			this.#call<{ id: string }>("submitter", "POST", "/v1/executions", { kind, input }),
		);
		const waited = this.#call<{ publicState: string }>("submitter", "GET", `/v1/executions/${id}/wait?timeoutMs=20000`);
		waited.catch(() => {});
		let claimed = only(await latencies.of(waiting ? "hand-over" : "claim", waiting ?? claim(0)), id);
		await this.#stream(latencies, claimed, n);
		if (n % 3 === 0) claimed = await this.#suspend(latencies, claimed, claim);
		const result = `${SECRET} ${n}`;
		const completed = performance.now();
		await latencies.of(
			"complete",
			this.#call("worker", "POST", `/v1/executions/${id}/complete`, { fence: fenceOf(claimed), result }),
		);
		const { publicState } = await waited;
		latencies.add("wait", performance.now() - completed);
		if (publicState !== "completed") throw new Error(`${id} is ${publicState}`);
		const read = await latencies.of("read", this.#call("submitter", "GET", `/v1/executions/${id}/result`));
		if (read !== result) throw new Error(`${id} has the result ${JSON.stringify(read)}`);
		await latencies.of("list", this.#call("submitter", "GET", `/v1/executions?kind=${kind}&limit=20`));
	}

	/** Appends frames, and hears them on a tail. */
	async #stream(latencies: Latencies, claimed: Claimed, n: number): Promise<void> {
		const { id, attempt } = claimed;
		const tail = await latencies.of("tail", this.#tail(`/v1/executions/${id}/attempts/${attempt.index}/stream/tail`));
		const text = `frame ${n}`;
		const heard = tail.heard(text);
		const appended = performance.now();
		await latencies.of(
			"frames",
			this.#call("worker", "POST", `/v1/executions/${id}/frames`, { fence: fenceOf(claimed), frames: [{ text }] }),
		);
		await heard;
		latencies.add("frame heard", performance.now() - appended);
		tail.leave();
	}

	async #suspend(
		latencies: Latencies,
		claimed: Claimed,
		claim: (waitMs: number) => Promise<{ executions: Claimed[] }>,
	): Promise<Claimed> {
		const { id } = claimed;
		await latencies.of(
			"suspend",
			this.#call("worker", "POST", `/v1/executions/${id}/suspend`, {
				fence: fenceOf(claimed),
				reason: "waiting_for_approval",
				waitpoints: [{ key: "answer" }],
				condition: { signal: "go" },
			}),
		);
		await latencies.of("approve", this.#call("operator", "POST", `/v1/executions/${id}/approve`, { name: "go" }));
		return only(await latencies.of("hand-over", claim(PATIENCE_MS)), id);
	}

	async #call<T>(who: keyof NeighbourTokens, method: string, path: string, body?: object): Promise<T> {
		const { status, text } = await this.#striker.strike({
			method,
			path,
			headers: this.#headers(who),
			body: body && JSON.stringify(body),
		});
		if (status >= 300) throw new Error(`the neighbour's ${method} ${path} was answered ${status}: ${text}`);
		return JSON.parse(text) as T;
	}

	/** An event stream that is open. */
	#tail(path: string): Promise<{ heard(text: string): Promise<void>; leave(): void }> {
		return new Promise((resolve, reject) => {
			const { hostname: host, port } = this.#address;
			const headers = { ...this.#headers("submitter"), accept: "text/event-stream" };
			const call = send({ host, port, path, headers, agent: false }, (response) => {
				if (response.statusCode !== 200) reject(new Error(`the neighbour's tail was answered ${response.statusCode}`));
				let all = "";
				let look = () => {};
				let fail = (_: Error) => {};
				response.on("data", (chunk: Buffer) => {
					all += chunk.toString();
					look();
				});
				response.on("end", () => fail(new Error(`the neighbour's tail ended with ${all}`)));
				response.on("error", (error) => fail(error));
				resolve({
					heard: (text) =>
						new Promise((hear, failed) => {
							look = () => all.includes(text) && hear();
							fail = failed;
							look();
						}),
					leave() {
						call.destroy();
					},
				});
			});
			call.on("error", reject);
			call.end();
		});
	}

	#headers(who: keyof NeighbourTokens): Record<string, string> {
		return { authorization: `Bearer ${this.#tokens[who]}`, "content-type": "application/json" };
	}
}

const fenceOf = ({ lease }: Claimed) => ({ leaseId: lease.id, epoch: lease.epoch });

function only({ executions: [claimed] }: { executions: Claimed[] }, id: string): Claimed {
	if (claimed?.id !== id) throw new Error(`claimed ${claimed?.id ?? "nothing"} instead of ${id}`);
	return claimed;
}
