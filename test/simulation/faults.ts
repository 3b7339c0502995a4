import type { Node } from "./cluster.ts";
import { noFaults, type SimPartition } from "./sim-store.ts";
import type { Stage } from "./stage.ts";

/** Those who hold leases, a few of which nobody sees to any more. */
interface Mortals {
	die(): void;
}

/** Something goes wrong; what can mend itself does so after a while. */
export function strike(stage: Stage, workers: Mortals): void {
	const { random, cluster, network, world } = stage;
	const slot = random.integer(0, cluster.nodes.length - 1);
	const node = cluster.nodes[slot] as Node;
	const fault = random.weighted({
		crash: 3,
		leave: 2,
		pause: 3,
		deaf: 2,
		down: 2,
		hang: 1,
		full: 1,
		clock: 2,
		worker: 2,
	});
	switch (fault) {
		case "crash":
			cluster.crash(slot);
			world.after(random.integer(1, 1000), () => cluster.start(slot));
			return;
		case "leave":
			cluster.leave(slot);
			world.after(random.integer(1, 5000), () => {
				cluster.crash(slot);
				cluster.start(slot);
			});
			return;
		case "deaf":
			return node.store.loseNotices(random.integer(10, 5000));
		case "pause":
			return node.host.pause(random.pick([200, 5000, 60_000]), random.chance(0.5));
		case "down":
		case "full": {
			const partition = random.pick(network.partitions);
			partition[fault] = true;
			world.after(random.integer(10, 3000), () => {
				partition[fault] = false;
			});
			return;
		}
		case "hang": {
			const partition = random.pick(network.partitions);
			partition.hang();
			world.after(random.integer(10, 7000), () => partition.wake());
			return;
		}
		case "clock":
			stage.clockOffset += random.integer(-20_000, 20_000);
			return;
		case "worker":
			return workers.die();
	}
}

/** It answers whatever it is asked. */
export function heal(partition: SimPartition): void {
	partition.down = partition.full = false;
	partition.wake();
}

/** Nothing goes wrong any more, and every engine runs; what an engine had begun before it stood still is yet to come. */
export function appease(stage: Stage): void {
	const { cluster, network } = stage;
	stage.calm = true;
	network.faults = noFaults;
	stage.replyLost = 0;
	for (const partition of network.partitions) heal(partition);
	stage.awakeFrom = Math.max(0, ...cluster.nodes.map(({ host }) => host.pausedUntil));
	cluster.nodes.forEach((node, slot) => {
		node.host.wake();
		if (!node.host.alive) cluster.start(slot);
	});
}

/**
 * Engines that stood still wake up, and the workers expire whose claims were in them; clocks that ran ahead are caught up
 * with, and all hear of each other.
 */
export async function settleDown(stage: Stage): Promise<void> {
	const { world, network } = stage;
	const ahead = Math.max(...network.partitions.map(({ time }) => time)) - network.clock();
	stage.clockOffset += Math.max(0, ahead);
	await world.runUntil(world.time + 100_000);
	stage.raise();
}
