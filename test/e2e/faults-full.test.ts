import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "iovalkey";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hasValkey, startValkey } from "../servers/valkey-server.ts";
import { Everything } from "./everything.ts";
import { smallDisk } from "./full-disk.ts";

const ROUNDS = Number(process.env.FF_FAULT_FULL ?? 2);
const TIMEOUT = { timeout: 180_000 + ROUNDS * 60_000 };
const FULL_MS = 5000;
/** Less than an empty server takes. */
const FULL_BYTES = 1024 * 1024;

/** A store that can be made full and have room again. */
interface Vessel {
	how: string;
	url: string;
	fill(all: Everything): Promise<unknown>;
	free(all: Everything): Promise<unknown>;
	discard(): Promise<void>;
}

async function file(): Promise<Vessel> {
	const disk = await smallDisk();
	const pidOf = ({ server }: Everything): number => server.child.pid ?? 0;
	return {
		...disk,
		url: `sqlite:${join(disk.folder, "store.db")}`,
		fill: (all) => disk.fill(pidOf(all)),
		free: (all) => disk.free(pidOf(all)),
	};
}

async function valkey(): Promise<Vessel> {
	const server = await startValkey(["--appendonly", "yes", "--appendfsync", "always"]);
	const client = new Redis(server.url);
	return {
		how: "maxmemory, noeviction",
		url: server.url,
		fill: () => client.config("SET", "maxmemory", FULL_BYTES),
		free: () => client.config("SET", "maxmemory", 0),
		async discard() {
			client.disconnect();
			await server.stop();
		},
	};
}

const rows = [{ name: "sqlite", open: file }, ...(hasValkey() ? [{ name: "valkey", open: valkey }] : [])];

describe.each(rows)("every feature in use on $name", ({ name, open }) => {
	let vessel: Vessel;
	let all: Everything;
	afterEach(async () => {
		await all.end();
		await vessel.discard();
	});

	test(
		`full ${ROUNDS} times: told as that, nothing lost, doubled or stuck, and doctor finds nothing`,
		TIMEOUT,
		async () => {
			vessel = await open();
			all = await Everything.start({ url: vessel.url });
			const readiness = async () => {
				const answer = await fetch(`${all.url}/readyz`);
				return { status: answer.status, said: await answer.text() };
			};
			/** Of work nobody does: those who work may have as much as they want already, and submit no more. */
			const submission = async () => {
				const headers = { "content-type": "application/json" };
				const body = JSON.stringify({ kind: "probe", lane: "probes" });
				const answer = await fetch(`${all.url}/v1/executions`, { method: "POST", headers, body });
				return ((await answer.json()) as { error?: { code: string } }).error?.code;
			};
			const told = new Set<string>();
			for (let round = 0; round < ROUNDS; round++) {
				const { server } = all;
				await vessel.fill(all);
				await vi.waitFor(async () => expect(await submission()).toBe("store_unavailable"), { timeout: 30_000 });
				await vi.waitFor(async () => expect(await readiness()).toMatchObject({ status: 503 }), { timeout: 30_000 });
				told.add((await readiness()).said);
				// For longer than leases last. The time is the fault itself; nothing is waited for.
				await sleep(FULL_MS);
				await vessel.free(all);
				await vi.waitFor(async () => expect(await readiness()).toMatchObject({ status: 200 }), { timeout: 30_000 });
				await all.flows();
				// It has lived through it.
				expect(server.child.exitCode).toBe(null);
			}
			const { acknowledged, ...wrong } = await all.settle();
			process.stdout.write(
				`${ROUNDS} × full (${vessel.how}), every feature in use on ${name}: ${acknowledged} acknowledged, ${wrong.lost.length} lost, ${wrong.doubled.length} doubled, ${wrong.stuck.length} stuck\n`,
			);
			expect(wrong).toEqual({ lost: [], doubled: [], stuck: [] });
			for (const said of told) expect(said).toMatch(/full|maxmemory|disk I\/O error/);
			await vessel.fill(all);
			await all.stop();
			await vessel.free(all);
			expect(await all.doctor()).toMatchObject({ code: 0, out: expect.stringContaining("Nothing is wrong.") });
		},
	);
});
