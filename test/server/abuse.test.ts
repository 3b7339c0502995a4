import { createHash } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ROLES, type Role } from "../../src/server/access.ts";
import type { TokenEntry } from "../../src/server/options.ts";
import { type BedRow, type StoreBed, storeBeds } from "../e2e/store-beds.ts";
import type { Weapon } from "./abuse/attack.ts";
import type { AttackOrder, Wave, WaveReport } from "./abuse/attacker-program.ts";
import { Child } from "./abuse/child.ts";
import { lineOf, sharesOf } from "./abuse/figures.ts";
import type { Latencies } from "./abuse/latencies.ts";
import { Neighbour } from "./abuse/neighbour.ts";
import type { ServerAnswers, ServerOrder } from "./abuse/server-program.ts";

const REQUESTS = Number(process.env.FF_ABUSE_REQUESTS ?? 50_000);
const SEED = Number(process.env.FF_ABUSE_SEED ?? 1 + Math.floor(Math.random() * 1_000_000));
/** Such as `sqlite,valkey`. */
const STORES = (process.env.FF_ABUSE_STORES ?? "sqlite").split(",");
/** Attackers that are never answered slower would measure how fast a machine with two cores is. */
const PER_SECOND = Number(process.env.FF_ABUSE_RATE ?? 800);
/** Sent before anything is measured: code is compiled, caches are filled. */
const WARM_UP = Math.min(Math.max(5000, REQUESTS / 10), REQUESTS);
const UNDISTURBED_MS = 8000;

/**
 * How long things take is judged where nothing else runs beside it, as in `npm run chaos`. Beside other tests it says more
 * of them than of the server, and is only printed.
 */
const JUDGES_TIMES = process.env.FF_ABUSE_TIMES === "judged";
const LOOP_MS = 50;
const MEMORY_GROWTH = 1.2;
/**
 * So many executions wait for their time from the beginning, and each is as large: as much as the server keeps of what it
 * has read, in number and in size, so that this is full before it is measured. What grows after that grows with every
 * request.
 */
const WAITING = 25_000;
const LATER = {
	kind: "later",
	delayMs: 86_400_000,
	input: "x".repeat(600),
	tags: { team: "billing", region: "north", customer: "c-1029", release: "4.18.2" },
};
const PER_CALL = 1000;
/** Connections the second tenant may keep, and the test. */
const OWN_CONNECTIONS = 32;
const SETTLE_MS = 60_000;

const tokenOf = (name: string): string => `the-token-of-${name}`;
const entry = (name: string, role: Role, namespace?: string): TokenEntry => ({
	name,
	role,
	...(namespace === undefined ? undefined : { namespace }),
	hash: createHash("sha256").update(tokenOf(name)).digest("hex"),
});

const weapons: Weapon[] = ROLES.flatMap((role) => [
	{ token: tokenOf(`hostile-${role}`), role, isBound: true },
	{ token: tokenOf(`loose-${role}`), role, isBound: false },
]);
const tokens: TokenEntry[] = ROLES.flatMap((role) => [
	entry(`hostile-${role}`, role, "hostile"),
	entry(`loose-${role}`, role),
	entry(`neighbour-${role}`, role, "neighbour"),
	entry(`waiting-${role}`, role, "waiting"),
]);
const ours = {
	submitter: tokenOf("neighbour-submitter"),
	worker: tokenOf("neighbour-worker"),
	operator: tokenOf("neighbour-operator"),
};

/** Each store once; how many partitions it has makes no difference here. */
const beds = STORES.flatMap((name) => storeBeds.find((bed) => bed.name === name) ?? []);

let bed: StoreBed | undefined;
let server: Child | undefined;
let attackers: Child | undefined;
let neighbour: Neighbour | undefined;

afterEach(async () => {
	neighbour?.close();
	attackers?.kill();
	server?.kill();
	await bed?.discard();
});

describe.each(beds)("$name", ({ name, open }: BedRow) => {
	test(`${REQUESTS} hostile requests stop nobody`, { timeout: 300_000 + REQUESTS * 30 }, async () => {
		process.stdout.write(`hostile run on ${name}: seed ${SEED}\n`);
		bed = await open();
		const errors: string[] = [];
		server = new Child("server-program", { store: bed.url, tokens } satisfies ServerOrder, ["--expose-gc"]);
		server.hear(({ error }: Partial<ServerAnswers>) => error !== undefined && errors.push(error));
		const address = await server.ask(undefined, ({ address }: Partial<ServerAnswers>) => address);
		await fill(address);
		neighbour = new Neighbour(address, ours);
		const keepsake = await neighbour.keepsake();
		const kept = await keepsake.look();
		const order: AttackOrder = { address, weapons, foreignIds: [keepsake.id] };
		attackers = new Child("attacker-program", order);
		await attackers.ask(undefined, (said: string) => said === "ready" || undefined);

		neighbour.start();
		await wave({ seed: SEED + REQUESTS, requests: WARM_UP, perSecond: PER_SECOND });
		await settled();
		const before = await ask("memory");
		const calm = await undisturbed();
		await ask("loop");

		const report = await wave({ seed: SEED, requests: REQUESTS, perSecond: PER_SECOND });
		const attacked = neighbour.take();
		const loop = await ask("loop");
		await settled();
		const after = await ask("memory");
		const calmAgain = await undisturbed();
		await neighbour.stop();
		const isKept = (await keepsake.look()) === kept;
		await server.end({ ask: "close" });

		const shares = sharesOf([calm, calmAgain], attacked);
		const figures = { report, shares, jobs: neighbour.done, before, after, loop };
		process.stdout.write(`${lineOf({ store: name, seed: SEED, requests: REQUESTS, ...figures })}\n`);
		expect({ complaints: report.complaints, errors }).toEqual({ complaints: [], errors: [] });
		expect(isKept).toBe(true);
		expect(after.liveMb).toBeLessThanOrEqual(before.liveMb * MEMORY_GROWTH);
		if (!JUDGES_TIMES) return;
		expect(shares.filter(({ p99Ms, mostMs }) => p99Ms > mostMs)).toEqual([]);
		expect(loop.p999Ms).toBeLessThanOrEqual(LOOP_MS);
	});
});

async function fill(address: string): Promise<void> {
	const items = Array.from({ length: PER_CALL }, () => LATER);
	const headers = { authorization: `Bearer ${tokenOf("waiting-submitter")}`, "content-type": "application/json" };
	for (let made = 0; made < WAITING; made += PER_CALL) {
		const init = { method: "POST", headers, body: JSON.stringify({ items }) };
		const response = await fetch(`${address}/v1/executions/batch`, init);
		expect(response.status).toBe(200);
	}
}

/** Sends some attacks, and ends early when the neighbour's work fails. */
async function wave(wave: Wave): Promise<WaveReport> {
	const report = (attackers as Child).ask(wave, (said: WaveReport) => said);
	try {
		return await Promise.race([report, neighbour?.failure.then(() => report) as Promise<WaveReport>]);
	} catch (error) {
		// Work fails also because the server is gone, and then that is what is to be told.
		await ask("connections");
		throw error;
	}
}

function ask<Q extends "memory" | "loop" | "connections">(what: Q): Promise<ServerAnswers[Q]> {
	return (server as Child).ask(
		{ ask: what },
		(answer: Partial<ServerAnswers>) => answer[what] as ServerAnswers[Q] | undefined,
	);
}

/** Attackers keep their sockets: the server itself takes them back. */
async function settled(): Promise<void> {
	const isLeft = async () => {
		const connections = await ask("connections");
		if (connections > OWN_CONNECTIONS) throw new Error(`${connections} connections are still open`);
	};
	await vi.waitFor(isLeft, { timeout: SETTLE_MS, interval: 100 });
}

/** How long the second tenant's calls take while nobody disturbs them. */
async function undisturbed(): Promise<Latencies> {
	neighbour?.take();
	await Promise.race([neighbour?.failure, new Promise((resolve) => setTimeout(resolve, UNDISTURBED_MS))]);
	return (neighbour as Neighbour).take();
}
