import { setTimeout as pause } from "node:timers/promises";
import { FlowFabric } from "flowfabric";

/**
 * A thousand items are processed concurrently, at most eight at a time however many workers there are, and one node adds up
 * their results. Run it after `npm run build`.
 */

type Kinds = {
	count: { input: { page: number }; result: { words: number } };
	sum: { input: undefined; result: { words: number; pages: number } };
};

const PAGES = 1000;
const AT_ONCE = 8;

const ff = await FlowFabric.open<Kinds>("memory:");
await ff.quotas.create({ id: "library", concurrency: AT_ONCE });
const worker = ff.worker({ concurrency: 32 });

let running = 0;
let most = 0;
let handled = 0;
worker.handle("count", async (_ctx, { page }) => {
	running += 1;
	handled += 1;
	most = Math.max(most, running);
	await pause(1);
	running -= 1;
	return { words: page };
});

worker.handle("sum", ({ parents }) => {
	const counted = Object.values(parents).map(({ result }) => (result as { words: number }).words);
	return { words: counted.reduce((sum, words) => sum + words, 0), pages: counted.length };
});
await worker.start();

const flow = ff.flow("word-count");
const pages = Array.from({ length: PAGES }, (_, page) => `page ${page}`);
for (const [page, key] of pages.entries()) flow.node(key, "count", { page }, { quotas: ["library"] });
const run = await flow.node("total", "sum", undefined, { after: pages }).start();

const { state, counts } = await run.wait();
const { words, pages: all } = await run.run<Kinds["sum"]["result"]>("total").result();
console.log(`${state}: ${counts.completed} members`);
console.log(`${words} words on ${all} pages, each counted once: ${handled === PAGES}`);
console.log(`never more than ${AT_ONCE} at a time: ${most <= AT_ONCE}`);
await ff.close();
