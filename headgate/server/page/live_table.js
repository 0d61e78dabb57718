// A table whose cells change: the server sends the cells that did, and rows only when there are others.
export default {
  template: `
    <div class="table-wrap">
      <table class="live" :aria-label="label">
        <thead>
          <tr>
            <th v-for="(column, at) in columns" :key="at" scope="col" :class="{number: column.number}"
                :aria-sort="column.sort ? (sort.by === column.name ? (sort.down ? 'descending' : 'ascending') : 'none') : null">
              <button v-if="column.sort" type="button" @click="$emit('sort', column.name)">
                {{ column.label }}<span aria-hidden="true">{{ sort.by === column.name ? (sort.down ? ' ↓' : ' ↑') : '' }}</span>
              </button>
              <template v-else>{{ column.label }}</template>
            </th>
          </tr>
        </thead>
        <tbody>
          <tr v-for="row in shown" :key="row[0]">
            <td v-for="(column, at) in columns" :key="at" :class="{number: column.number, minor: column.minor}" :data-label="column.label"
                :data-value="column.mark ? row[at] : null">
              <a v-if="column.link" :href="column.link + encodeURIComponent(row[at])">{{ row[at] }}</a>
              <template v-else>{{ row[at] }}</template>
            </td>
          </tr>
          <tr v-if="!shown.length" class="none"><td :colspan="columns.length">{{ empty }}</td></tr>
        </tbody>
      </table>
    </div>
  `,
  props: { label: String, columns: Array, rows: Array, sort: Object, empty: String },
  data() {
    return { shown: this.rows };
  },
  watch: {
    rows(rows) {
      this.shown = rows;
    },
  },
  methods: {
    patch(changes) {
      for (const [row, column, text] of changes) this.shown[row][column] = text;
    },
  },
};
