import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hasValkey } from "../servers/valkey-server.ts";
import { type Bed, type BedNode, cluster, oneServer, says, tell } from "./beds.ts";
import { Load } from "./load.ts";

const ROUNDS = Number(process.env.FF_FAULT_ROUNDS ?? 1);
const STAND_STILL_MS = 5000;
const TIMEOUT = { timeout: 120_000 + 60_000 * ROUNDS };

interface Scene {
	bed: Bed;
	load: Load;
	/** A primary, another one each round. */
	node: BedNode;
}

type Faults = Record<string, (scene: Scene) => Promise<void>>;

/** What can happen to servers however many there are. */
const anywhere: Faults = {
	"functions are flushed": async ({ bed, load }) => {
		for (let n = 0; n < 10; n++) {
			for (const primary of bed.primaries) await tell(primary, "FUNCTION", "FLUSH");
			await load.flows(10);
		}
	},
	"every connection is dropped, again and again": async ({ bed, load }) => {
		for (let n = 0; n < 3; n++) {
			for (const primary of bed.primaries)
				for (const type of ["normal", "pubsub"]) await tell(primary, "CLIENT", "KILL", "TYPE", type, "SKIPME", "yes");
			await load.flows(20);
		}
	},
	"a server stands still for 5 seconds": async ({ node }) => {
		process.kill(node.pid, "SIGSTOP");
		// The time is the fault itself; nothing is waited for.
		await sleep(STAND_STILL_MS);
		process.kill(node.pid, "SIGCONT");
	},
	"a server is killed and started again": async ({ node }) => {
		await node.end("SIGKILL");
		await node.restart();
	},
};

const inCluster: Faults = {
	...anywhere,
	"a node is lost for so long that its cluster is down": async ({ bed, node }) => {
		await node.end("SIGKILL");
		const other = bed.primaries.find((primary) => primary !== node) as BedNode;
		await says(other, /cluster_state:fail/, "CLUSTER", "INFO");
		await node.restart();
	},
};

faultsOn("one server", oneServer, anywhere);
// Nodes that take each other to have failed soon: that is a fault too.
faultsOn("a cluster", () => cluster({ nodeTimeoutMs: 2000 }), inCluster);

function faultsOn(name: string, open: () => Promise<Bed>, faults: Faults): void {
	describe.runIf(hasValkey())(`${name} under load`, () => {
		let bed: Bed;
		let load: Load;
		beforeEach(async () => {
			bed = await open();
			load = await Load.start(bed.url, { partitions: 8 });
		});
		afterEach(async () => {
			await load.close();
			await bed.discard();
		});

		for (const [what, happens] of Object.entries(faults)) {
			test(`${what}: nothing lost, nothing doubled, nothing stuck`, TIMEOUT, async () => {
				for (let round = 0; round < ROUNDS; round++) {
					await load.flows();
					await happens({ bed, load, node: bed.primaries[round % bed.primaries.length] as BedNode });
				}
				await load.flows();
				await load.drain();
				const { acknowledged, lost, doubled, stuck } = await load.audit();
				process.stdout.write(
					`${name}, ${ROUNDS} × ${what}: ${acknowledged} acknowledged, ${load.failures} refused, ${lost.length} lost, ${doubled.length} doubled, ${stuck.length} stuck\n`,
				);
				expect({ lost, doubled, stuck }).toEqual({ lost: [], doubled: [], stuck: [] });
			});
		}
	});
}
