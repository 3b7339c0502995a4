import { afterEach, describe, expect, test } from "vitest";
import { hasValkey } from "../servers/valkey-server.ts";
import { type Bed, type BedNode, cluster, says, tell } from "./beds.ts";
import { Load } from "./load.ts";

const ROUNDS = Number(process.env.FF_FAULT_ROUNDS ?? 1);
const TIMEOUT = { timeout: 120_000 + 60_000 * ROUNDS };

/** A primary and its copy; they change places with every fail-over. */
interface Pair {
	primary: BedNode;
	replica: BedNode;
}

describe.runIf(hasValkey())("a cluster with replicas under load", () => {
	let bed: Bed;
	let load: Load;
	let pairs: Pair[];
	const prepare = async (options: { nodeTimeoutMs?: number } = {}) => {
		bed = await cluster({ replicas: 1, ...options });
		pairs = bed.primaries.map((primary, n) => ({ primary, replica: bed.replicas[n] as BedNode }));
		load = await Load.start(bed.url, { partitions: 8 });
	};
	afterEach(async () => {
		await load.close();
		await bed.discard();
	});

	test(
		"a replica takes over as an operator asks it to: nothing lost, nothing doubled, nothing stuck",
		TIMEOUT,
		async () => {
			await prepare();
			for (let round = 0; round < ROUNDS; round++) {
				const pair = pairs[round % pairs.length] as Pair;
				await load.flows();
				await handOver(pair);
				await says(pair.primary, /master_link_status:up/, "INFO", "replication");
				[pair.primary, pair.replica] = [pair.replica, pair.primary];
			}
			const { lost, doubled, stuck } = await outcome("handed over");
			expect({ lost, doubled, stuck }).toEqual({ lost: [], doubled: [], stuck: [] });
		},
	);

	/** What no replica had when its primary died is gone, as the docs say; whatever is there must be whole. */
	test("a replica takes over when its primary is killed: nothing doubled, nothing stuck", TIMEOUT, async () => {
		await prepare({ nodeTimeoutMs: 1000 });
		for (let round = 0; round < ROUNDS; round++) {
			const pair = pairs[round % pairs.length] as Pair;
			await load.flows();
			await pair.primary.end("SIGKILL");
			await says(pair.replica, /role:master/, "INFO", "replication");
			await load.flows();
			await pair.primary.restart();
			await says(pair.primary, /master_link_status:up/, "INFO", "replication");
			[pair.primary, pair.replica] = [pair.replica, pair.primary];
		}
		const { acknowledged, lost, doubled, stuck } = await outcome("killed");
		expect({ doubled, stuck }).toEqual({ doubled: [], stuck: [] });
		expect(lost.length).toBeLessThan(acknowledged / 10);
	});

	/** A replica that could not take over in time gives up and has to be asked again. */
	async function handOver({ replica }: Pair): Promise<void> {
		for (let tries = 1; ; tries++) {
			await tell(replica, "CLUSTER", "FAILOVER");
			try {
				return await says(replica, /role:master/, "INFO", "replication");
			} catch (error) {
				if (tries === 3) throw error;
			}
		}
	}

	async function outcome(what: string) {
		await load.flows();
		await load.drain();
		const audit = await load.audit();
		const { acknowledged, lost, doubled, stuck } = audit;
		process.stdout.write(
			`primaries ${what}, ${ROUNDS}: ${acknowledged} acknowledged, ${load.failures} refused, ${lost.length} lost, ${doubled.length} doubled, ${stuck.length} stuck\n`,
		);
		return audit;
	}
});
