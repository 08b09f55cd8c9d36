// Programs of many kinds for the verdict corpus: what real models write beyond the grammar of the built-in prompts, and at least one
// finding of every lint rule. Each is scored as it stands and with mistakes drawn from a seed.

const hooks = `import { useEffect, useMemo, useRef, useState } from 'react';

type Item = { id: number; label: string; done: boolean };

function useCounter(start: number) {
  const [value, setValue] = useState(start);
  return { value, increase: () => setValue((old) => old + 1) };
}

export default function App() {
  const [items, setItems] = useState<Item[]>([{ id: 1, label: 'Bread', done: false }]);
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const { value, increase } = useCounter(3);
  const open = useMemo(() => items.filter((item) => !item.done).length, [items]);
  useEffect(() => {
    input.current?.focus();
    const timer = setInterval(increase, 400);
    return () => clearInterval(timer);
  }, []);
  return (
    <main className="app" style={{ display: 'grid', gap: 8 }}>
      <h1>Groceries &amp; more</h1>
      <label>
        New item
        <input ref={input} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button type="button" onClick={() => { setItems([...items, { id: items.length + 1, label: text || 'Milk', done: false }]); setText(''); }}>Add</button>
      <ul>
        {items.map((item) => (
          <li key={item.id} aria-label={item.label}>
            <input type="checkbox" checked={item.done} onChange={() => setItems(items.map((other) => (other.id === item.id ? { ...other, done: !other.done } : other)))} />
            {item.label}
          </li>
        ))}
      </ul>
      <p>{open} left, {value} ticks</p>
    </main>
  );
}
`

const reducer = `import { createContext, useContext, useReducer } from 'react';

interface State { readonly count: number; readonly history: readonly number[] }
type Action = { kind: 'add'; by: number } | { kind: 'reset' };
const Counter = createContext<State>({ count: 0, history: [] });

function reduce(state: State, action: Action): State {
  switch (action.kind) {
    case 'add':
      return { count: state.count + action.by, history: [...state.history, state.count] };
    case 'reset':
      return { count: 0, history: [] };
  }
}

function Total() {
  const { count, history } = useContext(Counter);
  return <output>Total {count} after {history.length} steps</output>;
}

export default function App() {
  const [state, dispatch] = useReducer(reduce, { count: 0, history: [] });
  return (
    <Counter.Provider value={state}>
      <h1>Reducer</h1>
      <button onClick={() => dispatch({ kind: 'add', by: 2 })}>Add two</button>
      <button onClick={() => dispatch({ kind: 'reset' })} disabled={state.count === 0}>Reset</button>
      <Total />
    </Counter.Provider>
  );
}
`

const generic = `import { memo, type ReactNode } from 'react';

type TableProps<T> = { rows: readonly T[]; columns: { [K in keyof T]?: string }; render?: (row: T) => ReactNode };

function Table<T extends { id: number }>({ rows, columns, render }: TableProps<T>) {
  const names = Object.keys(columns) as (keyof T)[];
  return (
    <table>
      <thead><tr>{names.map((name) => <th key={String(name)}>{columns[name]}</th>)}</tr></thead>
      <tbody>
        {rows.map((row) => <tr key={row.id}>{names.map((name) => <td key={String(name)}>{String(row[name])}</td>)}{render !== undefined && <td>{render(row)}</td>}</tr>)}
      </tbody>
    </table>
  );
}

const Price = memo(function Price({ cents }: { cents: number }) {
  return <strong>{(cents / 100).toFixed(2)}</strong>;
});

export default () => (
  <>
    <h2>Prices</h2>
    <Table rows={[{ id: 1, name: 'Tea', cents: 250 }, { id: 2, name: 'Cake', cents: 399 }]} columns={{ name: 'Name' }} render={(row) => <Price cents={row.cents} />} />
  </>
);
`

const form = `import { Component, forwardRef, useId, useState, type FormEvent } from 'react';

class Boundary extends Component<{ children: React.ReactNode }, { failed: boolean }> {
  override state = { failed: false };
  static getDerivedStateFromError() { return { failed: true }; }
  override render() { return this.state.failed ? <p role="alert">Something broke</p> : this.props.children; }
}

const Field = forwardRef<HTMLInputElement, { label: string; name: string }>(function Field({ label, name }, ref) {
  const id = useId();
  return <p><label htmlFor={id}>{label}</label> <input id={id} name={name} ref={ref} placeholder={label.toLowerCase()} /></p>;
});

export default function App() {
  const [sent, setSent] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSent('Thank you');
  };
  return (
    <Boundary>
      <form onSubmit={submit}>
        <h1>Sign up</h1>
        <Field label="Name" name="name" />
        <select defaultValue="b"><option value="a">First</option><option value="b">Second</option></select>
        <textarea rows={3} defaultValue="Notes" />
        <button>Send</button>
        {sent ? <p>{sent}</p> : null}
      </form>
    </Boundary>
  );
}
`

const words = `export default function App() {
  const rows: [string, number][] = [['one', 1], ['two', 2]];
  return (
    <article>
      <h1>
        A title
        over several lines
      </h1>
      <p>Some text   with   spaces, {'a text'} and {1 + 1} more.</p>
      <p>

        blank lines around

      </p>
      <p>caf\u00e9 \u{1f600} na\u00efve</p>
      <svg viewBox="0 0 10 10"><circle cx="5" cy="5" r="4" stroke-width="2" /></svg>
      <dl>{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd data-value={value}>{value}</dd></div>)}</dl>
    </article>
  );
}
`

const linted = `import React, { useState } from 'react';
var unused = 1;
const table = { a: 1, b: 2, a: 3 };
let never = 'x';
function helper(value: any) {
  if (value == 1) return 'a\\q';
  else if (value == 1) { }
  for (;;) { break; }
  debugger;
  if (value = 2) return [1, , 2].join();
  try { return never } finally { return '!' }
  never = never;
}
function plain({}: object) { return 1 === 1; 2; }
export default function App() {
  if (table.a) { const [early] = useState(0); void early; }
  const list = ['a', 'b'].map((name) => <li>{name}</li>);


  switch (never) { case 'x': break; case 'x': break; }
  const nothing = () => {};
  return <main><ul>{list}</ul><h1></h1>{[<b>one</b>]}<p>{helper(plain({}))}</p><React.Fragment>{nothing === nothing}</React.Fragment></main>;
}
`

/** Whole programs, one a kind. */
export const variedPrograms: Readonly<Record<string, string>> = { hooks, reducer, generic, form, words, linted }
