//! Inverting three by three: all that standard errors need.

/// The inverse of a symmetric matrix that is positive definite; `None` of one that is not, as far as rounding lets one tell. Rows
/// are first brought to the same scale.
pub(super) fn inverse(of: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let [[a, _, _], [_, b, _], [_, _, c]] = *of;
    let roots = [a.sqrt(), b.sqrt(), c.sqrt()];
    let [[_, xy, xz], [_, _, yz], _] = *of;
    let [ra, rb, rc] = roots;
    let (p, q, r) = (xy / (ra * rb), xz / (ra * rc), yz / (rb * rc));
    // Correlations: ones on the diagonal. What is left of the second and third after what they share with those before.
    let left_b = 1.0 - p * p;
    let cross = r - p * q;
    let left_c = 1.0 - q * q - cross * cross / left_b;
    let is_definite = left_b > SINGULAR && left_c > SINGULAR;
    let determinant = left_b * left_c;
    let adjoint = [
        [1.0 - r * r, q * r - p, p * r - q],
        [q * r - p, 1.0 - q * q, p * q - r],
        [p * r - q, p * q - r, 1.0 - p * p],
    ];
    let scaled = |row: [f64; 3], root: f64| {
        let [x, y, z] = row;
        [x / (ra * root), y / (rb * root), z / (rc * root)].map(|cell| cell / determinant)
    };
    let [first, second, third] = adjoint;
    let found = [scaled(first, ra), scaled(second, rb), scaled(third, rc)];
    (is_definite && found.iter().flatten().all(|cell| cell.is_finite())).then_some(found)
}

/// Columns of which less than this is left are the same.
const SINGULAR: f64 = 1e-15;

/// A matrix times a column.
pub(super) fn times(matrix: &[[f64; 3]; 3], column: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| dot(row, column))
}

/// The sum of products.
pub(super) fn dot(one: [f64; 3], other: [f64; 3]) -> f64 {
    let ([a, b, c], [x, y, z]) = (one, other);
    a * x + b * y + c * z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let of = [[4.0, 2.0e-3, 1.0], [2.0e-3, 5.0e-6, 4.0e-4], [1.0, 4.0e-4, 3.0]];
        let inverse = inverse(&of).unwrap();
        for (at, column) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into_iter().enumerate() {
            let back = times(&of, times(&inverse, column));
            for (other, cell) in back.into_iter().enumerate() {
                assert!((cell - f64::from(u8::from(at == other))).abs() < 1e-9, "{back:?}");
            }
        }
    }

    #[test]
    fn columns_that_say_the_same_have_no_inverse() {
        assert_eq!(inverse(&[[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]), None);
        assert_eq!(inverse(&[[0.0; 3]; 3]), None);
        assert_eq!(inverse(&[[f64::NAN; 3]; 3]), None);
    }
}
