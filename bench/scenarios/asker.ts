import { Pool } from "undici";

/** A process of its own that asks one thing over and over, so that the server's process does nothing but answer. */
interface Question {
	origin: string;
	path: string;
	token: string;
	count: number;
	connections: number;
}

process.on("message", async ({ origin, path, token, count, connections }: Question) => {
	const pool = new Pool(origin, { connections });
	const headers = { authorization: `Bearer ${token}` };
	// On undici's own callbacks: whoever asks must be quicker than whoever answers.
	const ask = () =>
		new Promise<void>((resolve, reject) => {
			pool.dispatch(
				{ method: "GET", path, headers },
				{
					onRequestStart() {},
					onResponseStart(_controller, status) {
						if (status !== 200) reject(new Error(`answered ${status}`));
					},
					onResponseData() {},
					onResponseEnd: () => resolve(),
					onResponseError: (_controller, error) => reject(error),
				},
			);
		});
	let left = count;
	const began = performance.now();
	const asker = async () => {
		while (left-- > 0) await ask();
	};
	await Promise.all(Array.from({ length: connections }, asker));
	process.send?.(count / ((performance.now() - began) / 1000));
	await pool.close();
});
