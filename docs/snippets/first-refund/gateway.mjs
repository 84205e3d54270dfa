// A payment gateway that remembers idempotency keys, as the real ones do.
// With `rude` it hangs up without an answer after each new refund.
import { createServer } from 'node:http';

const rude = process.argv[2] === 'rude';
const answers = new Map();

createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const key = request.headers['idempotency-key'];
  const known = answers.has(key);
  if (!known) answers.set(key, JSON.stringify({ id: `re_${answers.size + 1}` }));
  console.log(`${known ? 'seen before' : 'REFUNDED'} ${key} ${body}`);
  if (rude && !known) return request.socket.destroy();
  response.writeHead(200, { 'content-type': 'application/json' }).end(answers.get(key));
}).listen(4242, '127.0.0.1', () => console.log('gateway on 4242'));
