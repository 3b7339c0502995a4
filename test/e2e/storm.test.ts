import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { freePort } from "../servers/valkey-server.ts";
import { Program } from "./processes.ts";
import { type BedRow, type StoreBed, storeBeds } from "./store-beds.ts";

const KILLS = Number(process.env.FF_STORM_KILLS ?? 3);
const PROCESSES = 4;

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const node = (file: string, ...args: string[]): Program => new Program(process.execPath, [pathOf(file), ...args]);

/** What the test started: whatever happens, none of it outlives the test. */
let started: Program[] = [];
let bed: StoreBed;
let port: number;

describe.each(storeBeds.filter(({ name, partitions }) => partitions === 1 || name !== "sqlite"))(
	"a storm on $name ×$partitions",
	(row) => {
		beforeEach(async () => {
			bed = await row.open();
			port = await freePort();
			started = [];
		});

		afterEach(async () => {
			await Promise.all(started.map((program) => program.stop("SIGKILL")));
			await bed.discard();
		});

		test(`${KILLS} times kill -9 of a server under load: nothing lost, nothing doubled, workers recover`, {
			timeout: 120_000 + KILLS * 45_000,
		}, async ({ task }) => {
			const url = `http://127.0.0.1:${port}`;
			let server = await serve(row);
			const workers = Array.from({ length: PROCESSES }, () => start("./programs/storm-worker.mjs", url));
			const submitters = Array.from({ length: PROCESSES }, (_, n) =>
				start("./programs/storm-submitter.mjs", url, `s${n}`),
			);
			for (const worker of workers) await worker.says(/^ready$/m);

			for (let kill = 0; kill < KILLS; kill++) {
				// Every process has got something done since the server is (again) there, and is in the middle of more.
				const marks = [...workers, ...submitters].map((program) => ({ program, from: program.out.length }));
				for (const { program, from } of marks) await program.saysBehind(from, /^(?:ack|ran) .*\n.*\n.*\n/m);
				await server.stop("SIGKILL");
				server = await serve(row);
			}
			task.meta.kills = KILLS;
			const marks = workers.map((worker) => ({ worker, from: worker.out.length }));
			for (const { worker, from } of marks) await worker.saysBehind(from, /^ran /m);
			for (const submitter of submitters) expect(await submitter.stop("SIGTERM")).toBe(0);

			const acknowledged = submitters.flatMap(({ out }) =>
				[...out.matchAll(/^ack (\S+) (\S*)$/gm)].map(([, id, key]) => ({ id, key })),
			);
			const ff = FlowFabric.connect(url);
			const lost: string[] = [];
			const stuck: string[] = [];
			const doubled: string[] = [];
			for (const { id = "" } of acknowledged) {
				const execution = await ff.wait(id, { timeoutMs: 60_000 }).catch(() => undefined);
				if (!execution) lost.push(id);
				else if (execution.publicState !== "completed")
					stuck.push(`${id} ${execution.publicState} ${execution.blockingDetail}`);
				else {
					const { events } = await ff.events(id, { limit: 1000 });
					if (events.filter(({ type }) => type === "completed").length !== 1) doubled.push(id);
				}
			}
			// A key stands for one execution, however often it was sent.
			const keys = acknowledged.filter(({ key }) => key !== "");
			expect(new Set(keys.map(({ key }) => key)).size).toBe(new Set(keys.map(({ id }) => id)).size);
			await ff.close();
			process.stdout.write(
				`${KILLS} kills of the server on ${row.name} ×${row.partitions}: ${acknowledged.length} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${stuck.length} stuck\n`,
			);
			expect({ lost, stuck, doubled }).toEqual({ lost: [], stuck: [], doubled: [] });
			// A worker hands its work back and then lets the signal do what it does to any program.
			for (const worker of workers) expect(await worker.stop("SIGTERM")).toBe("SIGTERM");
			expect(await server.stop("SIGTERM")).toBe(0);
		});
	},
);

async function serve({ partitions }: BedRow): Promise<Program> {
	const where = ["--store", bed.url, "--listen", `127.0.0.1:${port}`];
	const server = start("../../dist/cli/main.js", "serve", ...where, "--partitions", String(partitions));
	await server.says(/127\.0\.0\.1:\d+/);
	return server;
}

function start(file: string, ...args: string[]): Program {
	const program = node(file, ...args);
	started.push(program);
	return program;
}
